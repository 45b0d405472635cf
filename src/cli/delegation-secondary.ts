import type { Config, ZoneConfig } from "../config/config.js";
import { readTsigSecret } from "../config/tsig-secret.js";
import { UserError } from "../lib/errors.js";
import type { SocketAddress } from "../lib/listening.js";
import { DNS_PORT } from "../wire/constants.js";
import { SECONDARY_FORMATS, type SecondaryKind, type SecondarySetup } from "./secondary-formats.js";

/** What the user asked for. */
export interface SecondaryOptions {
  readonly secondary: SecondaryKind;
  /** Default: where the configuration says that livezone listens. */
  readonly primary?: readonly SocketAddress[];
  /** Name of a TSIG key; default: the one that the zones name under `transfer.to`. */
  readonly key?: string;
  readonly showSecret?: true;
}

/** Stands where a secret belongs. */
const PLACEHOLDER = "SECRET";

/**
 * What a secondary is told of zones, from the configuration.
 *
 * @param zone the zone that was named; default: all that have `transfer`
 * @throws UserError if the configuration does not say enough
 */
export function secondarySetup(
  config: Config,
  zone: ZoneConfig | undefined,
  options: SecondaryOptions,
): SecondarySetup {
  const format = SECONDARY_FORMATS[options.secondary];
  const zones = zone === undefined ? config.zones.filter(({ transfer }) => transfer !== undefined) : [zone];
  if (zones.some(({ transfer }) => transfer === undefined) || zones.length === 0) {
    throw new UserError(
      `${zone === undefined ? "no zone of the configuration" : zone.zone} has no "transfer", so nobody may carry it; name the other server under "transfer.to" first`,
      "TRANSFER_NOT_CONFIGURED",
    );
  }
  const primaries = options.primary ?? primariesOf(config, zones);
  const other = primaries.find(({ port }) => port !== DNS_PORT);
  if (other !== undefined && !format.namesPort) {
    throw new UserError(
      `livezone listens on port ${other.port}, and ${options.secondary} asks port ${DNS_PORT} only; listen there, or name where it is reached with --primary`,
      "SECONDARY_PORT",
    );
  }
  const key = format.signs ? keyOf(config, zones, options) : undefined;
  // Of one zone the user wants that zone; of all, whatever makes the next one known, too.
  const catalog = zone === undefined && format.readsCatalog ? config.transfer.catalog?.zone : undefined;
  return {
    zones: zones.map((one) => one.zone),
    primaries,
    ...(key === undefined ? {} : { key }),
    ...(catalog === undefined ? {} : { catalog }),
  };
}

/** Where livezone and its siblings are asked: what it listens on, or the nameservers' addresses where that says nothing. */
function primariesOf({ listen, siblings }: Config, zones: readonly ZoneConfig[]): SocketAddress[] {
  const concrete = listen.filter(({ address }) => address !== "0.0.0.0" && address !== "::");
  const port = listen.some((one) => one.port === DNS_PORT) ? DNS_PORT : (listen[0]?.port ?? DNS_PORT);
  const peers = siblings?.peers.map(({ address }) => ({ address, port })) ?? [];
  const own =
    concrete.length > 0 ? concrete.map(({ address, port }) => ({ address, port })) : nameserversOf(zones, port);
  const all = [...own, ...peers];
  if (all.length === 0) {
    throw new UserError(
      "the configuration does not say by which address livezone is reached; give it with --primary IP",
      "PRIMARY_ADDRESS_MISSING",
    );
  }
  return [...new Map(all.map((one) => [`${one.address} ${one.port}`, one])).values()];
}

function nameserversOf(zones: readonly ZoneConfig[], port: number): SocketAddress[] {
  const addresses = new Set(zones.flatMap(({ nameservers }) => nameservers.flatMap((one) => one.addresses)));
  return [...addresses].map((address) => ({ address, port }));
}

function keyOf(
  { transfer }: Config,
  zones: readonly ZoneConfig[],
  { key, showSecret }: SecondaryOptions,
): SecondarySetup["key"] {
  const used = new Set(zones.flatMap((zone) => zone.transfer?.to.map((one) => one.key) ?? []));
  if (key === undefined && used.size > 1) {
    const known = [...used].map((name) => name ?? "no key").join(", ");
    throw new UserError(`the servers under "transfer.to" use ${known}; choose with --key`, "SECONDARY_KEY");
  }
  const name = key?.toLowerCase() ?? [...used][0];
  if (name === undefined) return undefined;
  const found = transfer.keys.find((one) => one.name === name);
  if (found === undefined) {
    const known = transfer.keys.map((one) => one.name).join(", ");
    throw new UserError(
      `${name} is no key of the configuration; it has ${known === "" ? "none" : known}`,
      "KEY_UNKNOWN",
    );
  }
  return { name, algorithm: found.algorithm, secret: showSecret === true ? secretIn(found.secretFile) : PLACEHOLDER };
}

function secretIn(file: string): string {
  const read = readTsigSecret(file);
  if ("why" in read) throw new UserError(`the TSIG secret in ${file} cannot be used: ${read.why}`, "TSIG_SECRET");
  return Buffer.from(read.secret).toString("base64");
}
