import { z } from "zod";
import { parseAddress } from "./address.js";
import { FAILURE_CLASSES, type FailureClass } from "./config.js";
import { parseName } from "./name.js";
import {
  address,
  choice,
  contact,
  domainName,
  duration,
  flag,
  httpPath,
  leaf,
  listenAddress,
  oneOrMany,
  text,
  ttl,
  wholeNumber,
} from "./option.js";
import type { Verdict } from "./parse-result.js";
import { queryOptions, rateLimitOptions, tcpOptions } from "./schema-queries.js";
import {
  mainTransfer,
  mainTransferOptions,
  secondaryOptions,
  transferRuleOptions,
  tsigKeyOptions,
  zoneTransfer,
  zoneTransferOptions,
} from "./schema-transfer.js";

/*
 * Every option of the configuration: one entry each, with meaning, range and default. From it come validation,
 * `livezone.schema.json` and the suggestions for misspelt keys. An option whose default depends on others, or
 * that is merged from several places, is optional here and completed in `build-zone.ts` or `build-probe.ts`.
 */

/** The probe types this version runs. */
export const PROBE_TYPES = ["https", "http", "tcp", "exec", "none"] as const;

export type ProbeType = (typeof PROBE_TYPES)[number];

/** The probe types that each option of a probe belongs to. */
export const probeTypesOf = z.registry<{ types: readonly ProbeType[] }>();

const ACTIVE: readonly ProbeType[] = ["https", "http", "tcp", "exec"];
const CONNECTING: readonly ProbeType[] = ["https", "http", "tcp"];
const HTTP: readonly ProbeType[] = ["https", "http"];
const TLS: readonly ProbeType[] = ["https"];
const EXEC: readonly ProbeType[] = ["exec"];

function probeOption<S extends z.ZodType>(types: readonly ProbeType[], schema: S) {
  const option = schema.optional();
  probeTypesOf.add(option, { types });
  return option;
}

const FILE_PATH = "the path of a file";

/** Failures in a row by class of result: one option for each, so that a misspelt class is an error. */
export const thresholdOptions = {
  "not-ready": threshold("not-ready"),
  overloaded: threshold("overloaded"),
  "auth-required": threshold("auth-required"),
  "unexpected-status": threshold("unexpected-status"),
  refused: threshold("refused"),
  reset: threshold("reset"),
  unreachable: threshold("unreachable"),
  timeout: threshold("timeout"),
  "tls-untrusted": threshold("tls-untrusted"),
  "tls-name-mismatch": threshold("tls-name-mismatch"),
  "tls-expired": threshold("tls-expired"),
  "tls-protocol": threshold("tls-protocol"),
  "malformed-response": threshold("malformed-response"),
} as const satisfies Record<FailureClass, z.ZodType>;

function threshold(name: FailureClass) {
  return wholeNumber(
    { min: 1, max: 100 },
    { about: `Failures in a row of class ${name} that bring a target down.` },
  ).optional();
}

export const flapOptions = {
  limit: wholeNumber(
    { min: 1, max: 100 },
    { about: "Changes in the window that are not held against a target.", default: 5 },
  ).optional(),
  window: duration(
    { min: "1m", max: "24h" },
    { about: "Time over which changes are counted; also the longest that a target is held.", default: "10m" },
  ).optional(),
} as const;

/** Options of `probe`, in a main file's `defaults`, a zone or an endpoint; the nearest one that is written holds. */
export const probeOptions = {
  type: probeOption(
    PROBE_TYPES,
    choice(PROBE_TYPES, {
      about:
        "How a target is probed: HTTPS request, HTTP request, TCP connection, a program that is run, or not at all (always up).",
      default: "https",
    }),
  ),
  interval: probeOption(
    ACTIVE,
    duration(
      { min: "100ms", max: "1h" },
      { about: "Time between the starts of two probes of one address, ±10 %.", default: "2s" },
    ),
  ),
  timeout: probeOption(
    ACTIVE,
    duration(
      { min: "50ms", max: "1m" },
      {
        about: "Time in which a whole probe must finish; at most the interval, or 3 s if that is more.",
        default: "3s",
      },
    ),
  ),
  recheck: probeOption(
    ACTIVE,
    duration(
      { min: "50ms", max: "1h" },
      {
        about: "Time to the next probe after a result that contradicts the present health; at most the interval.",
        default: "1s",
      },
    ),
  ),
  rise: probeOption(
    ACTIVE,
    wholeNumber({ min: 1, max: 100 }, { about: "Successes in a row that bring a target up.", default: 2 }),
  ),
  fall: probeOption(
    ACTIVE,
    wholeNumber({ min: 1, max: 100 }, { about: "Failures in a row that bring a target down.", default: 3 }),
  ),
  thresholds: probeOption(
    ACTIVE,
    z.strictObject(thresholdOptions, { error: () => "thresholds" }).meta({
      description:
        "Failures in a row that bring a target down, by class of result; for a class that is not named: 2 for refused and not-ready, else fall.",
    }),
  ),
  flap: probeOption(
    ACTIVE,
    z.strictObject(flapOptions, { error: () => "flap" }).meta({
      description:
        "A target that changed more often than this must pass without a break for a growing time before it returns.",
    }),
  ),
  tripwire: probeOption(
    CONNECTING,
    flag({
      about: "Keep one idle connection to each target, whose end makes a probe run at once.",
      default: true,
    }),
  ),
  port: probeOption(ACTIVE, wholeNumber({ min: 1, max: 65_535 }, { about: "Port to probe; default: the endpoint's." })),
  path: probeOption(HTTP, httpPath({ about: "Path that is requested.", default: "/readyz" })),
  expectStatus: probeOption(
    HTTP,
    z
      .array(wholeNumber({ min: 100, max: 599 }, { about: "An HTTP status code." }))
      .min(1)
      .meta({ description: "Status codes that count as a success.", default: [200] }),
  ),
  serverName: probeOption(
    HTTP,
    leaf(
      { type: "string" },
      {
        about:
          "Host header and name or IP address in the certificate; a name is sent as SNI too. Default: the endpoint's name.",
      },
      readServerName,
    ),
  ),
  bearerTokenFile: probeOption(
    HTTP,
    text(FILE_PATH, { about: "File with a bearer token to send, relative to this file; read again when it changes." }),
  ),
  ca: probeOption(
    TLS,
    text(FILE_PATH, {
      about:
        "PEM file of the authorities that may sign the target's certificate, relative to this file; default: the system's.",
    }),
  ),
  insecureSkipVerify: probeOption(
    TLS,
    flag({ about: "Accept any certificate: anyone in between can then pose as a healthy target.", default: false }),
  ),
  resumeTls: probeOption(
    TLS,
    flag({
      about:
        "Resume TLS sessions for up to five minutes, which saves work with thousands of targets; a changed certificate is then noticed up to five minutes later.",
      default: false,
    }),
  ),
  command: probeOption(
    EXEC,
    z
      .array(text("a program or an argument", { about: "The program, or one of its arguments." }))
      .min(1)
      .meta({
        description:
          "Program and arguments, without a shell; a name with a slash is absolute. Exit code 0 passes, 1 means not ready. It is told LIVEZONE_ENDPOINT, _TARGET, _ADDRESS, _PORT and _TIMEOUT_MS.",
      }),
  ),
  clientCertificate: probeOption(
    TLS,
    z
      .strictObject(
        {
          cert: text(FILE_PATH, { about: "PEM file of the certificate, then of its intermediates." }),
          key: text(FILE_PATH, { about: "PEM file of the certificate's private key, not encrypted." }),
        },
        { error: () => "clientCertificate" },
      )
      .meta({ description: "Certificate to present to the target; files relative to this file." }),
  ),
} as const;

const probe = z
  .strictObject(probeOptions, { error: () => "probe" })
  .meta({ description: "How targets are probed; each option from the nearest place that writes it." });

const targetAddresses = oneOrMany(address({ about: "IPv4 or IPv6 address." }));

/** Where one target is probed. */
export const targetProbeOptions = {
  address: address({
    about: "Address to probe, if not those that are answered; its result counts for all of them.",
  }).optional(),
  port: wholeNumber(
    { min: 1, max: 65_535 },
    { about: "Port to probe; default: that of the endpoint's probe." },
  ).optional(),
} as const;

/** The long form of a target. */
export const targetOptions = {
  addresses: targetAddresses,
  probe: z
    .strictObject(targetProbeOptions, { error: () => "targetProbe" })
    .meta({ description: "Where this target is probed, such as behind NAT or at a separate health port." })
    .optional(),
  disabled: flag({
    about: "Keep the target in the file and in the status, but neither probe nor answer it.",
    default: false,
  }).optional(),
} as const;

const target = z
  .union([targetAddresses, z.strictObject(targetOptions, { error: () => "target" })])
  .meta({ description: "Addresses, or a mapping with addresses and more options." });

const whenAllDown = z
  .union([
    choice(["all", "last-healthy", "none"], {
      about: "all: every target; last-healthy: those that were up last; none: no address (NODATA).",
    }),
    z.strictObject(
      { addresses: oneOrMany(address({ about: "Address to answer instead." })) },
      { error: () => "whenAllDown" },
    ),
  ])
  .meta({ description: "What to answer when fewer than minHealthy targets are up.", default: "all" });

export const endpointOptions = {
  port: wholeNumber({ min: 1, max: 65_535 }, { about: "Port of the apiservers.", default: 6443 }).optional(),
  ttl: ttl({ about: "TTL of the endpoint's answers, seconds; default: the zone's." }).optional(),
  targets: z
    .record(z.string(), target)
    .meta({ description: "The apiservers: an id (one DNS label) and one or more addresses each, or more options." }),
  probe: z
    .union([
      probe,
      z
        .array(probe)
        .min(1)
        .meta({ description: "Several probes, all of which must pass; the first has the schedule." }),
    ])
    .meta({ description: "How targets are probed: one probe, or a list of probes that must all pass." })
    .optional(),
  whenAllDown: whenAllDown.optional(),
  minHealthy: wholeNumber(
    { min: 1, max: 65_535 },
    {
      about: "With fewer targets up than this, the endpoint counts as all down; at most the number of targets.",
      default: 1,
    },
  ).optional(),
  maxAnswers: wholeNumber(
    { min: 1, max: 65_535 },
    { about: "At most this many addresses in one answer; default: all." },
  ).optional(),
  whenUnknown: choice(["withhold", "answer"], {
    about:
      "Whether a target without any result yet, after a start without remembered health, is answered. One that joins a running endpoint never is.",
    default: "withhold",
  }).optional(),
  statusRecord: flag({
    about: "Publish the targets' health as TXT at _status.<endpoint>, for whoever can ask.",
    default: false,
  }).optional(),
} as const;

const SOA_SECONDS = { min: 1, max: 2_147_483_647, unit: "seconds" } as const;

export const soaOptions = {
  contact: contact({ about: "Mailbox of who runs the zone; default: hostmaster.<zone>." }).optional(),
  negativeTtl: ttl({
    about: "How long resolvers may remember that there is no such record, seconds.",
    default: 5,
  }).optional(),
  refresh: wholeNumber(SOA_SECONDS, {
    about: "Seconds between a secondary's checks; in a zone with transfer the default is 60.",
    default: 7200,
  }).optional(),
  retry: wholeNumber(SOA_SECONDS, {
    about: "Seconds between checks after a failed one; in a zone with transfer the default is 30.",
    default: 900,
  }).optional(),
  expire: wholeNumber(SOA_SECONDS, {
    about: "Seconds after which a secondary without contact stops answering.",
    default: 1_209_600,
  }).optional(),
} as const;

export const zoneOptions = {
  zone: domainName("any", { about: "Name of the delegated zone, such as k8s.example.com." }),
  nameservers: z
    .record(
      z.string(),
      z.union([address({ about: "IPv4 or IPv6 address." }), z.array(address({ about: "IPv4 or IPv6 address." }))]),
    )
    .meta({
      description:
        "Name servers of the zone and their addresses (glue), as the parent zone delegates to them. Names are relative to the zone, or absolute with a trailing dot.",
    }),
  ttl: ttl({ about: "TTL of endpoints and records that name none, seconds; default: the main file's." }).optional(),
  soa: z
    .strictObject(soaOptions, { error: () => "soa" })
    .meta({ description: "Fields of the SOA record." })
    .optional(),
  records: text('master-file lines after "records: |"', {
    about: "Other records of the zone as master-file lines, relative to the zone.",
  }).optional(),
  probe: probe.optional(),
  endpoints: z
    .record(z.string(), z.strictObject(endpointOptions, { error: () => "endpoint" }))
    .meta({ description: "Health-aware names, relative to the zone; @ is the zone's own name." })
    .optional(),
  transfer: zoneTransfer.optional(),
  allowSpecialAddresses: flag({
    about: "Accept addresses that no client could use: loopback, link-local, multicast, unspecified, broadcast.",
    default: false,
  }).optional(),
} as const;

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
  probe: probe.optional(),
} as const;

/** From most to least. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;

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
  watch: flag({ about: "Reload when a file of the configuration changes.", default: false }).optional(),
  zones: oneOrMany(text("the name of a zone file", { about: "A file or a glob." })).meta({
    description: "Zone files or globs, relative to this file.",
  }),
} as const;

/** `livezone.yaml`. */
export const mainSchema = z
  .strictObject(mainOptions, { error: () => "main" })
  .meta({ title: "livezone main file", description: "What livezone listens on, keeps and serves." });

/** A zone file. */
export const zoneSchema = z
  .strictObject(zoneOptions, { error: () => "zone" })
  .meta({ title: "livezone zone file", description: "One delegated zone with its endpoints." });

export type MainInput = z.output<typeof mainSchema>;
export type ZoneInput = z.output<typeof zoneSchema>;
export type EndpointInput = NonNullable<ZoneInput["endpoints"]>[string];
export type TargetInput = EndpointInput["targets"][string];
export type ProbeInput = z.output<typeof probe>;

/** The mappings of the configuration by the name their zod error carries, with where they stand and their keys. */
export const SECTIONS: Readonly<Record<string, { readonly where: string; readonly keys: readonly string[] }>> = {
  main: { where: "at the top of the main file", keys: Object.keys(mainOptions) },
  admin: { where: 'under "admin" of the main file', keys: Object.keys(adminOptions) },
  defaults: { where: 'under "defaults" of the main file', keys: Object.keys(defaultsOptions) },
  log: { where: 'under "log" of the main file', keys: Object.keys(logOptions) },
  queries: { where: 'under "queries" of the main file', keys: Object.keys(queryOptions) },
  rateLimit: { where: 'under "queries.rateLimit"', keys: Object.keys(rateLimitOptions) },
  tcp: { where: 'under "queries.tcp"', keys: Object.keys(tcpOptions) },
  mainTransfer: { where: 'under "transfer" of the main file', keys: Object.keys(mainTransferOptions) },
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
};

/** The default that an entry of the schema names, read as if it had been written. @throws Error if it names none */
export function builtIn<S extends z.ZodType>(schema: S): NonNullable<z.output<S>> {
  const fallback = defaultOf(schema);
  if (fallback === undefined) throw new Error("this option has no default");
  return schema.parse(fallback) as NonNullable<z.output<S>>;
}

/** The default that an entry of the schema names, as it would be written; `undefined` when it names none. */
function defaultOf(schema: z.core.$ZodType): unknown {
  if (schema instanceof z.ZodOptional) return defaultOf(schema.unwrap());
  const meta = z.globalRegistry.get(schema);
  if (meta?.default !== undefined) return meta.default;
  return schema instanceof z.ZodPipe ? defaultOf(schema.in) : undefined;
}

function readWorkers(value: unknown): Verdict<number | "auto"> {
  if (value === "auto") return { value };
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= 64) return { value };
  return {
    why: "it is a whole number from 1 to 64, or auto",
    remedy: 'Write 1 to 64, or "auto" for one less than the cores.',
    code: typeof value === "number" ? "CONFIG_RANGE" : "CONFIG_TYPE",
  };
}

function readServerName(value: unknown): Verdict<string> {
  const looksLikeAddress = typeof value === "string" && (/^[0-9.]+$/.test(value) || value.includes(":"));
  return looksLikeAddress ? parseAddress(value) : parseName(value, "hostname");
}
