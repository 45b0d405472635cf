import { createHash } from "node:crypto";
import type { Config, ZoneConfig, ZoneTransferConfig } from "./config.js";
import { builtIn } from "./option.js";
import { quote } from "./quote.js";
import { notifyOptions, zoneTransferOptions } from "./schema-transfer.js";
import { soaOptions } from "./schema-zone.js";
import { problemAt, type Report, type Source } from "./source.js";
import { TRANSFERRED_REFRESH_SECONDS, TRANSFERRED_RETRY_SECONDS } from "./transfer.js";

/** Where its name stands in the main file. */
export const CATALOG_AT = ["transfer", "catalog"] as const;

/** TTL of its records, seconds. Nobody caches them: only transfers read them. */
const CATALOG_TTL_SECONDS = 60;

/** Version of the schema of catalog zones (RFC 9432 §4.2.1). */
const SCHEMA_VERSION = 2;

/** Hexadecimal digits of a member's label: as good as unique (RFC 9432 §4.1). */
const LABEL_DIGITS = 32;

/**
 * The catalog zone (RFC 9432): names every zone that may be transferred, so that secondaries learn of new ones by themselves. It is
 * transferred to everybody who may transfer one of them.
 *
 * @param name without the trailing dot
 */
export function buildCatalog(
  source: Source,
  name: string,
  zones: readonly ZoneConfig[],
  serialModulo: ZoneConfig["soa"]["serialModulo"],
  report: Report,
): ZoneConfig {
  const members = zones.filter(({ transfer }) => transfer !== undefined && isForSomebody(transfer));
  if (members.length === 0) warnOfNoMembers(source, name, report);
  const position = source.position(source.positions.value(CATALOG_AT));
  return {
    position,
    zone: name,
    // The name server of a catalog is nobody's business (RFC 9432 §4.1).
    nameservers: [{ position, name: "invalid.", addresses: [] }],
    nameserverTtl: CATALOG_TTL_SECONDS,
    soa: {
      contact: "invalid",
      negativeTtl: CATALOG_TTL_SECONDS,
      refresh: TRANSFERRED_REFRESH_SECONDS,
      retry: TRANSFERRED_RETRY_SECONDS,
      expire: builtIn(soaOptions.expire),
      ...(serialModulo && { serialModulo }),
    },
    records: {
      text: [`version TXT "${SCHEMA_VERSION}"`, ...members.map(memberLine)].join("\n"),
      defaultTtl: CATALOG_TTL_SECONDS,
      locate: () => position,
    },
    endpoints: [],
    transfer: {
      to: distinct(members.flatMap(({ transfer }) => transfer?.to ?? [])),
      allow: distinct(members.flatMap(({ transfer }) => transfer?.allow ?? [])),
      notify: { minIntervalMs: builtIn(notifyOptions.minInterval) },
      versions: builtIn(zoneTransferOptions.versions),
    },
    allowSpecialAddresses: false,
  };
}

/** Every zone that a server has with this configuration: those that are written, and the catalog. */
export function allZones({ zones, transfer: { catalog } }: Config): readonly ZoneConfig[] {
  return catalog === undefined ? zones : [...zones, catalog];
}

function isForSomebody({ to, allow }: ZoneTransferConfig): boolean {
  return to.length + allow.length > 0;
}

function memberLine({ zone }: ZoneConfig): string {
  const label = createHash("sha256").update(zone).digest("hex").slice(0, LABEL_DIGITS);
  return `${label}.zones PTR ${zone}.`;
}

function distinct<T>(entries: readonly T[]): T[] {
  return [...new Map(entries.map((entry) => [JSON.stringify(entry), entry])).values()];
}

function warnOfNoMembers(source: Source, name: string, report: Report): void {
  report(
    problemAt(source, CATALOG_AT, {
      message: `transfer.catalog is ${quote(name)}, but no zone may be transferred, so the catalog is empty and nobody may have it.`,
      remedy: 'Name the secondaries of each zone in its file, such as "transfer: { to: [10.0.0.53] }".',
      code: "CONFIG_CATALOG_EMPTY",
      severity: "warning",
    }),
  );
}
