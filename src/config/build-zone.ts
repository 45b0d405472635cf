import type { SocketAddress } from "../lib/listening.js";
import { buildEndpoints } from "./build-endpoints.js";
import { buildNameservers } from "./build-nameservers.js";
import { type ProbeLayer, probeLayer } from "./build-probe.js";
import type { RecordsConfig, SoaConfig, ZoneConfig } from "./config.js";
import { builtIn } from "./option.js";
import { defaultsOptions } from "./schema.js";
import { soaOptions, type ZoneInput, zoneOptions } from "./schema-zone.js";
import type { Report, Source } from "./source.js";
import { warnOfSpecialName } from "./special-names.js";
import { buildZoneTransfer, TRANSFERRED_REFRESH_SECONDS, TRANSFERRED_RETRY_SECONDS } from "./transfer.js";
import type { Valid } from "./validate.js";
import { refuseSpecial } from "./zone-addresses.js";
import type { ZoneContext } from "./zone-context.js";
import { checkNames } from "./zone-names.js";

/** What a zone inherits from the main file. */
export interface ZoneDefaults {
  /** Names of the TSIG keys of the main file. */
  readonly keys: ReadonlySet<string>;
  /** Where queries are answered. */
  readonly listen: readonly SocketAddress[];
  /** The share of serials of this server among its siblings; absent = every serial. */
  readonly serialModulo: SoaConfig["serialModulo"] | undefined;
  readonly ttl: number | undefined;
  readonly probe: ProbeLayer | undefined;
}

/** One zone from its valid file; what its parts contradict is reported. */
export function buildZoneConfig(
  source: Source,
  valid: Valid<ZoneInput>,
  defaults: ZoneDefaults,
  report: Report,
): ZoneConfig {
  const input = valid.value;
  const ttl = input.ttl ?? defaults.ttl ?? builtIn(defaultsOptions.ttl);
  const own = probeLayer(source, valid, ["probe"], input.probe);
  const probeLayers = [defaults.probe, own].filter((layer) => layer !== undefined);
  const context: ZoneContext = { source, valid, zone: input.zone, ttl, probeLayers, report, taken: new Map() };
  const nameservers = buildNameservers(context);
  const endpoints = buildEndpoints(context);
  checkNames(context, endpoints);
  warnOfSpecialName(context);
  const records = buildRecords(context);
  const serialModulo = input.soa?.serialModulo ?? defaults.serialModulo;
  const transfer = buildZoneTransfer(source, valid, defaults, report);
  if (!(input.allowSpecialAddresses ?? builtIn(zoneOptions.allowSpecialAddresses))) refuseSpecial(context);
  return {
    position: source.position(source.positions.key(["zone"])),
    zone: input.zone,
    nameservers,
    nameserverTtl: input.nameserverTtl ?? builtIn(zoneOptions.nameserverTtl),
    soa: {
      contact: input.soa?.contact ?? `hostmaster.${input.zone}`,
      negativeTtl: input.soa?.negativeTtl ?? builtIn(soaOptions.negativeTtl),
      refresh: input.soa?.refresh ?? (transfer ? TRANSFERRED_REFRESH_SECONDS : builtIn(soaOptions.refresh)),
      retry: input.soa?.retry ?? (transfer ? TRANSFERRED_RETRY_SECONDS : builtIn(soaOptions.retry)),
      expire: input.soa?.expire ?? builtIn(soaOptions.expire),
      ...(serialModulo && { serialModulo }),
    },
    ...(records === undefined ? {} : { records }),
    endpoints,
    ...(transfer === undefined ? {} : { transfer }),
    allowSpecialAddresses: input.allowSpecialAddresses ?? builtIn(zoneOptions.allowSpecialAddresses),
  };
}

function buildRecords(context: ZoneContext): RecordsConfig | undefined {
  const text = context.valid.value.records;
  if (text === undefined) return undefined;
  const { source } = context;
  return {
    text,
    defaultTtl: context.ttl,
    locate: (line, column) => source.position(source.positions.inText(["records"], line, column)),
  };
}
