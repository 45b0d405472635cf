import { z } from "zod";
import { FAILURE_CLASSES } from "./config.js";
import { choice, domainName, flag, leaf, listenAddress, oneOrMany, text, ttl } from "./option.js";
import type { Verdict } from "./parse-result.js";
import { discoverOptions } from "./schema-discovery.js";
import { FILE_PATH, flapOptions, probeOptions, probeSchema } from "./schema-probe.js";
import { queryOptions, rateLimitOptions, tcpOptions } from "./schema-queries.js";
import { siblings, siblingsOptions } from "./schema-siblings.js";
import {
  mainTransfer,
  mainTransferOptions,
  notifyOptions,
  secondaryOptions,
  transferRuleOptions,
  tsigKeyOptions,
  zoneTransferOptions,
} from "./schema-transfer.js";
import { endpointOptions, soaOptions, targetOptions, targetProbeOptions, zoneOptions } from "./schema-zone.js";

/*
 * Every option of the configuration: one entry each, with meaning, range and default. From it come validation,
 * `livezone.schema.json` and the suggestions for misspelt keys. An option whose default depends on others, or
 * that is merged from several places, is optional here and completed where it is built (`build-*.ts`).
 */

export const adminOptions = {
  socket: text("the path of a socket", { about: "Control socket; its permissions are the authorization." }).optional(),
  http: listenAddress({ about: "Address of the status page, metrics and read-only API." }).optional(),
  tokenFile: text(FILE_PATH, {
    about: "File with the bearer token that lets HTTP change state; without it HTTP is read-only.",
  }).optional(),
  hostNames: oneOrMany(domainName("hostname", { about: "A name by which HTTP is asked." }))
    .meta({
      description:
        "Names that the Host header of HTTP requests may have, besides localhost, addresses and this machine's host name.",
    })
    .optional(),
} as const;

export const defaultsOptions = {
  ttl: ttl({ about: "TTL for zones that name none, seconds.", default: 5 }).optional(),
  probe: probeSchema.optional(),
} as const;

/** From most to least. */
const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;

export const logOptions = {
  level: choice(LOG_LEVELS, { about: "Least severity that is logged.", default: "info" }).optional(),
} as const;

export const mainOptions = {
  listen: oneOrMany(listenAddress({ about: "Address and port." }))
    .meta({ description: "Addresses to answer on, over UDP and TCP each.", default: ["0.0.0.0:53", "[::]:53"] })
    .optional(),
  workers: leaf(
    { anyOf: [{ type: "integer", minimum: 1, maximum: 64 }, { const: "auto" }] },
    { about: "Threads that answer queries, 1 to 64; auto: cores - 1, at least 1.", default: 1 },
    readWorkers,
  ).optional(),
  freebind: flag({
    about: "Listen also on addresses that this machine does not have yet; needs the native part.",
    default: false,
  }).optional(),
  stateDir: text("the path of a folder", {
    about: "Folder for overrides, last health and serials, relative to this file; without it nothing is kept.",
  }).optional(),
  admin: z
    .strictObject(adminOptions, { error: () => "admin" })
    .meta({ description: "Control and observation." })
    .optional(),
  defaults: z
    .strictObject(defaultsOptions, { error: () => "defaults" })
    .meta({ description: "What zones and endpoints start from." })
    .optional(),
  log: z
    .strictObject(logOptions, { error: () => "log" })
    .meta({ description: "Logging." })
    .optional(),
  queries: z
    .strictObject(queryOptions, { error: () => "queries" })
    .meta({ description: "Who is answered how often, and what is told of this server." })
    .optional(),
  transfer: mainTransfer.optional(),
  siblings: siblings.optional(),
  watch: flag({ about: "Reload when a file of the configuration changes.", default: false }).optional(),
  zones: oneOrMany(text("the name of a zone file", { about: "A file or a glob." })).meta({
    description: "Zone files or globs, relative to this file.",
  }),
} as const;

/** `livezone.yaml`. */
export const mainSchema = z
  .strictObject(mainOptions, { error: () => "main" })
  .meta({ title: "livezone main file", description: "What livezone listens on, keeps and serves." });

export type MainInput = z.output<typeof mainSchema>;

/** The mappings of the configuration by the name their zod error carries, with where they stand and their keys. */
export const SECTIONS: Readonly<Record<string, { readonly where: string; readonly keys: readonly string[] }>> = {
  main: { where: "at the top of the main file", keys: Object.keys(mainOptions) },
  admin: { where: 'under "admin" of the main file', keys: Object.keys(adminOptions) },
  defaults: { where: 'under "defaults" of the main file', keys: Object.keys(defaultsOptions) },
  log: { where: 'under "log" of the main file', keys: Object.keys(logOptions) },
  queries: { where: 'under "queries" of the main file', keys: Object.keys(queryOptions) },
  rateLimit: { where: 'under "queries.rateLimit"', keys: Object.keys(rateLimitOptions) },
  tcp: { where: 'under "queries.tcp"', keys: Object.keys(tcpOptions) },
  siblings: { where: 'under "siblings" of the main file', keys: Object.keys(siblingsOptions) },
  mainTransfer: { where: 'under "transfer" of the main file', keys: Object.keys(mainTransferOptions) },
  notify: { where: 'in "transfer.notify"', keys: Object.keys(notifyOptions) },
  tsigKey: { where: 'under a key of "transfer.keys"', keys: Object.keys(tsigKeyOptions) },
  zoneTransfer: { where: 'under "transfer" of a zone file', keys: Object.keys(zoneTransferOptions) },
  secondary: { where: 'under "transfer.to" of a zone file', keys: Object.keys(secondaryOptions) },
  transferRule: { where: 'under "transfer.allow" of a zone file', keys: Object.keys(transferRuleOptions) },
  zone: { where: "at the top of a zone file", keys: Object.keys(zoneOptions) },
  soa: { where: 'under "soa" of a zone file', keys: Object.keys(soaOptions) },
  endpoint: { where: "under an endpoint", keys: Object.keys(endpointOptions) },
  target: { where: "under a target that is written as a mapping", keys: Object.keys(targetOptions) },
  targetProbe: { where: 'under "probe" of a target', keys: Object.keys(targetProbeOptions) },
  probe: { where: 'under "probe"', keys: Object.keys(probeOptions) },
  clientCertificate: { where: 'under "clientCertificate"', keys: ["cert", "key"] },
  thresholds: { where: 'under "thresholds" of a probe', keys: [...FAILURE_CLASSES] },
  flap: { where: 'under "flap" of a probe', keys: Object.keys(flapOptions) },
  whenAllDown: { where: 'under "whenAllDown"', keys: ["addresses"] },
  discover: { where: 'under a source of "discover"', keys: Object.keys(discoverOptions) },
};

function readWorkers(value: unknown): Verdict<number | "auto"> {
  if (value === "auto") return { value };
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= 64) return { value };
  return {
    why: "it is a whole number from 1 to 64, or auto",
    remedy: 'Write 1 to 64, or "auto" for one less than the cores.',
    code: typeof value === "number" ? "CONFIG_RANGE" : "CONFIG_TYPE",
  };
}
