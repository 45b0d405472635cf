import { specialKind } from "./address.js";
import { buildEndpointProbe, type ProbeLayer } from "./build-probe.js";
import type {
  EndpointConfig,
  NameserverConfig,
  RecordsConfig,
  TargetConfig,
  WhenAllDown,
  ZoneConfig,
} from "./config.js";
import { MAX_NAME_CHARACTERS, parseName } from "./name.js";
import type { Fault } from "./parse-result.js";
import type { Path } from "./positions.js";
import { formatPath, quote } from "./quote.js";
import {
  builtIn,
  defaultsOptions,
  type EndpointInput,
  endpointOptions,
  soaOptions,
  type TargetInput,
  type ZoneInput,
  zoneOptions,
} from "./schema.js";
import { problemAt, problemAtKey, type Report, type Source } from "./source.js";
import { buildZoneTransfer, TRANSFERRED_REFRESH_SECONDS, TRANSFERRED_RETRY_SECONDS } from "./transfer.js";
import type { Valid } from "./validate.js";

/** What a zone inherits from the main file. */
export interface ZoneDefaults {
  /** Names of the TSIG keys of the main file. */
  readonly keys: ReadonlySet<string>;
  readonly ttl: number | undefined;
  readonly probe: ProbeLayer | undefined;
}

/** Everything that building the parts of one zone needs. */
interface Context {
  readonly source: Source;
  readonly valid: Valid<ZoneInput>;
  readonly zone: string;
  readonly ttl: number;
  /** Farthest first, without the endpoint's own. */
  readonly probeLayers: readonly ProbeLayer[];
  readonly report: Report;
  /** Names in the zone that already have addresses, with what has them. */
  readonly taken: Map<string, string>;
}

/** Longest prefix of names that livezone publishes for an endpoint by itself. */
const SERVICE_PREFIX = "_https._tcp.";

/** One zone from its valid file; what its parts contradict is reported. */
export function buildZone(source: Source, valid: Valid<ZoneInput>, defaults: ZoneDefaults, report: Report): ZoneConfig {
  const input = valid.value;
  const ttl = input.ttl ?? defaults.ttl ?? builtIn(defaultsOptions.ttl);
  const own = probeLayer(source, valid, ["probe"], input.probe);
  const probeLayers = [defaults.probe, own].filter((layer) => layer !== undefined);
  const context: Context = { source, valid, zone: input.zone, ttl, probeLayers, report, taken: new Map() };
  const nameservers = buildNameservers(context);
  const endpoints = buildEndpoints(context);
  checkNames(context, endpoints);
  const records = buildRecords(context);
  const transfer = buildZoneTransfer(source, valid, defaults.keys, report);
  if (!(input.allowSpecialAddresses ?? builtIn(zoneOptions.allowSpecialAddresses))) refuseSpecial(context);
  return {
    position: source.position(source.positions.key(["zone"])),
    zone: input.zone,
    nameservers,
    soa: {
      contact: input.soa?.contact ?? `hostmaster.${input.zone}`,
      negativeTtl: input.soa?.negativeTtl ?? builtIn(soaOptions.negativeTtl),
      refresh: input.soa?.refresh ?? (transfer ? TRANSFERRED_REFRESH_SECONDS : builtIn(soaOptions.refresh)),
      retry: input.soa?.retry ?? (transfer ? TRANSFERRED_RETRY_SECONDS : builtIn(soaOptions.retry)),
      expire: input.soa?.expire ?? builtIn(soaOptions.expire),
    },
    ...(records === undefined ? {} : { records }),
    endpoints,
    ...(transfer === undefined ? {} : { transfer }),
    allowSpecialAddresses: input.allowSpecialAddresses ?? builtIn(zoneOptions.allowSpecialAddresses),
  };
}

/** The options of a `probe:` at `path` as a layer, if there are any. */
export function probeLayer(
  source: Source,
  valid: Valid<unknown>,
  path: Path,
  options: ProbeLayer["options"] | undefined,
): ProbeLayer | undefined {
  if (options === undefined) return undefined;
  return { source, path, options, damaged: (key) => valid.damaged([...path, key]) };
}

/** The entries of a mapping in the order written. */
function entriesOf<T>(context: Context, path: Path, mapping: Readonly<Record<string, T>>): [string, T][] {
  return context.source.positions.keys(path).flatMap((key): [string, T][] => {
    const value = Object.hasOwn(mapping, key) ? mapping[key] : undefined;
    return value === undefined ? [] : [[key, value]];
  });
}

function reportName(context: Context, path: Path, name: string, fault: Fault): void {
  const message = `${formatPath(path.slice(0, -1))} has the name ${quote(name)}: ${fault.why}.`;
  context.report(problemAtKey(context.source, path, { message, remedy: fault.remedy, code: fault.code }));
}

/** The hint for a name that repeats the zone's, as names relative to it must not. */
function repeatsZone(name: string, zone: string, absoluteForm: string): Fault | undefined {
  if (name !== zone && !name.endsWith(`.${zone}`)) return undefined;
  const relative = name === zone ? "@" : name.slice(0, -zone.length - 1);
  return {
    why: `names here are relative to the zone, so it would become ${name}.${zone}`,
    remedy: `Write ${quote(relative)}${absoluteForm}.`,
    code: "CONFIG_NAME_ABSOLUTE",
  };
}

function buildNameservers(context: Context): NameserverConfig[] {
  const { source, zone, report } = context;
  const path = ["nameservers"];
  const servers: NameserverConfig[] = [];
  const seen = new Set<string>();
  for (const [name, addresses] of entriesOf(context, path, context.valid.value.nameservers)) {
    const at = [...path, name];
    const parsed = parseName(name, "hostname");
    if (!("value" in parsed)) {
      reportName(context, at, name, parsed);
      continue;
    }
    const absolute = name.endsWith(".");
    const repeated = absolute ? undefined : repeatsZone(parsed.value, zone, ", or end it with a dot");
    if (repeated !== undefined) {
      reportName(context, at, name, repeated);
      continue;
    }
    const fqdn = absolute ? parsed.value : `${parsed.value}.${zone}`;
    if (tooLong(context, at, name, fqdn)) continue;
    if (seen.has(fqdn)) {
      reportName(context, at, name, duplicateFault("name server"));
      continue;
    }
    seen.add(fqdn);
    const list = typeof addresses === "string" ? [addresses] : addresses;
    const inside = fqdn === zone || fqdn.endsWith(`.${zone}`);
    if (inside && list.length === 0) {
      report(
        problemAt(source, at, {
          message: `${formatPath(at)} has no address, but the name is in the zone: nobody could find it.`,
          remedy: "Write the address that the parent zone has as glue.",
          code: "CONFIG_GLUE_MISSING",
        }),
      );
      continue;
    }
    refuseDuplicates(context, addressesAt(context, at, list));
    if (inside) context.taken.set(fqdn, `the name server ${quote(name)}`);
    const position = source.position(source.positions.key(at));
    servers.push({ position, name: absolute ? `${parsed.value}.` : parsed.value, addresses: list });
  }
  if (Object.keys(context.valid.value.nameservers).length === 0 && !context.valid.damaged(path)) {
    report(
      problemAt(source, path, {
        message: "nameservers is empty, but a zone needs at least one.",
        remedy: 'Write the names and addresses that the parent zone delegates to, such as "ns1: 192.0.2.53".',
        code: "CONFIG_NAMESERVERS_EMPTY",
      }),
    );
  }
  return servers;
}

function duplicateFault(what: string): Fault {
  return {
    why: `there is another ${what} of that name (letter case does not count)`,
    remedy: "Keep one of them.",
    code: "CONFIG_NAME_DUPLICATE",
  };
}

function tooLong(context: Context, at: Path, name: string, fqdn: string): boolean {
  if (fqdn.length <= MAX_NAME_CHARACTERS) return false;
  reportName(context, at, name, {
    why: `with the zone and the names that livezone adds it would be ${fqdn.length} characters long`,
    remedy: `Shorten it by at least ${fqdn.length - MAX_NAME_CHARACTERS} characters.`,
    code: "CONFIG_NAME_TOO_LONG",
  });
  return true;
}

function buildEndpoints(context: Context): EndpointConfig[] {
  const path = ["endpoints"];
  const mapping = context.valid.value.endpoints ?? {};
  const endpoints: EndpointConfig[] = [];
  const seen = new Set<string>();
  for (const [name, input] of entriesOf(context, path, mapping)) {
    const at = [...path, name];
    const owner = endpointOwner(context, at, name);
    if (owner === undefined) continue;
    if (seen.has(owner)) {
      reportName(context, at, name, duplicateFault("endpoint"));
      continue;
    }
    seen.add(owner);
    endpoints.push(buildEndpoint(context, at, owner, input));
  }
  if (Object.keys(mapping).length === 0 && !context.valid.damaged(path)) {
    context.report(
      problemAtKey(context.source, context.valid.value.endpoints === undefined ? ["zone"] : path, {
        message: `the zone ${quote(context.zone)} has no endpoints.`,
        remedy: 'Add "endpoints" with the name that goes into controlPlaneEndpoint.',
        code: "CONFIG_NO_ENDPOINTS",
        severity: "warning",
      }),
    );
  }
  return endpoints;
}

/** The owner of an endpoint relative to the zone, in lower case. */
function endpointOwner(context: Context, at: Path, name: string): string | undefined {
  const { zone } = context;
  if (name === "@") return tooLong(context, at, name, SERVICE_PREFIX + zone) ? undefined : name;
  const parsed = parseName(name, "hostname");
  if (!("value" in parsed)) {
    reportName(context, at, name, {
      ...parsed,
      remedy: parsed.code === "CONFIG_NAME" && name === "" ? 'Write a name such as "api", or "@".' : parsed.remedy,
    });
    return undefined;
  }
  const repeated = repeatsZone(parsed.value, zone, "");
  if (repeated !== undefined) {
    reportName(context, at, name, repeated);
    return undefined;
  }
  if (name.endsWith(".")) {
    reportName(context, at, name, {
      why: "endpoints are relative to the zone",
      remedy: `Write ${quote(parsed.value)}.`,
      code: "CONFIG_NAME_ABSOLUTE",
    });
    return undefined;
  }
  return tooLong(context, at, name, `${SERVICE_PREFIX}${parsed.value}.${zone}`) ? undefined : parsed.value;
}

function buildEndpoint(context: Context, at: Path, name: string, input: EndpointInput): EndpointConfig {
  const { source, valid, zone, report } = context;
  const fqdn = name === "@" ? zone : `${name}.${zone}`;
  const port = input.port ?? builtIn(endpointOptions.port);
  const targets = buildTargets(context, at, fqdn, input);
  const probe = buildEndpointProbe(
    context.probeLayers,
    ownLayers(context, [...at, "probe"], input),
    { fqdn, port },
    report,
  );
  const minHealthy = input.minHealthy ?? builtIn(endpointOptions.minHealthy);
  const count = Object.values(input.targets).filter((one) => !isLongForm(one) || one.disabled !== true).length;
  if (minHealthy > count && count > 0 && !valid.damaged([...at, "targets"])) {
    const path = [...at, "minHealthy"];
    report(
      problemAt(source, path, {
        message: `${formatPath(path)} is ${minHealthy}, but there ${count === 1 ? "is 1 target" : `are ${count} targets`}: the endpoint would always count as all down.`,
        remedy: `Use at most ${count}.`,
        code: "CONFIG_MIN_HEALTHY",
      }),
    );
  }
  return {
    position: source.position(source.positions.key(at)),
    name,
    fqdn,
    port,
    ttl: input.ttl ?? context.ttl,
    targets,
    probe,
    whenAllDown: buildWhenAllDown(context, [...at, "whenAllDown"], input),
    minHealthy,
    whenUnknown: input.whenUnknown ?? builtIn(endpointOptions.whenUnknown),
    ...(input.maxAnswers === undefined ? {} : { maxAnswers: input.maxAnswers }),
    statusRecord: input.statusRecord ?? builtIn(endpointOptions.statusRecord),
  };
}

function buildWhenAllDown(context: Context, at: Path, input: EndpointInput): WhenAllDown {
  const value = input.whenAllDown ?? "all";
  if (typeof value === "string") return { kind: value };
  refuseDuplicates(context, addressesAt(context, [...at, "addresses"], value.addresses));
  return { kind: "addresses", addresses: value.addresses };
}

/** The endpoint's own probe, or each of its probes. */
function ownLayers({ source, valid }: Context, at: Path, { probe }: EndpointInput): readonly ProbeLayer[] {
  if (probe === undefined) return [];
  const list: readonly ProbeLayer["options"][] = Array.isArray(probe) ? probe : [probe];
  return list.flatMap((options, index) => {
    const layer = probeLayer(source, valid, Array.isArray(probe) ? [...at, index] : at, options);
    return layer === undefined ? [] : [layer];
  });
}

function buildTargets(context: Context, endpoint: Path, fqdn: string, input: EndpointInput): TargetConfig[] {
  const mapping = input.targets;
  const path = [...endpoint, "targets"];
  const targets: TargetConfig[] = [];
  const places: PlacedAddress[] = [];
  const seen = new Set<string>();
  for (const [id, target] of entriesOf(context, path, mapping)) {
    const at = [...path, id];
    const parsed = parseName(id, "hostname");
    if (!("value" in parsed) || id.includes(".")) {
      const fault = {
        why: "a target's id is one label",
        remedy: 'Write a name without dots, such as "cp1".',
        code: "CONFIG_TARGET_ID",
      };
      reportName(context, at, id, "value" in parsed || id === "" ? fault : { ...parsed, code: "CONFIG_TARGET_ID" });
      continue;
    }
    if (seen.has(parsed.value)) {
      reportName(context, at, id, duplicateFault("target"));
      continue;
    }
    seen.add(parsed.value);
    if (tooLong(context, at, id, `${parsed.value}.${fqdn}`)) continue;
    places.push(...targetAddresses(context, at, target));
    const position = context.source.position(context.source.positions.key(at));
    targets.push({ position, id: parsed.value, ...buildTarget(context, at, target, input) });
  }
  refuseDuplicates(context, places);
  if (Object.keys(mapping).length === 0 && !context.valid.damaged(path)) {
    context.report(
      problemAt(context.source, path, {
        message: `${formatPath(path)} is empty, but an endpoint needs at least one target.`,
        remedy: 'Write the apiservers below it, such as "cp1: 192.0.2.11".',
        code: "CONFIG_TARGETS_EMPTY",
      }),
    );
  } else if (targets.length > 0 && targets.every(({ disabled }) => disabled)) {
    context.report(
      problemAt(context.source, path, {
        message: `${formatPath(path)} are all disabled: the endpoint would have no address.`,
        remedy: 'Remove "disabled: true" from one of them, or remove the endpoint.',
        code: "CONFIG_TARGETS_EMPTY",
      }),
    );
  }
  return targets;
}

function isLongForm(target: TargetInput): target is Exclude<TargetInput, readonly string[]> {
  return !Array.isArray(target);
}

/** The addresses of a target with their places, in its short or long form. */
function targetAddresses(context: Context, at: Path, target: TargetInput): PlacedAddress[] {
  if (isLongForm(target)) return addressesAt(context, [...at, "addresses"], target.addresses);
  return addressesAt(context, at, target);
}

function buildTarget(
  context: Context,
  at: Path,
  target: TargetInput,
  endpoint: EndpointInput,
): Pick<TargetConfig, "addresses" | "probe" | "disabled"> {
  if (!isLongForm(target)) return { addresses: target };
  const { addresses, disabled, probe: { address, port } = {} } = target;
  if (port !== undefined && Array.isArray(endpoint.probe) && endpoint.probe.length > 1) {
    const path = [...at, "probe", "port"];
    context.report(
      problemAt(context.source, path, {
        message: `${formatPath(path)} is ${port}, but the endpoint has several probes: each has a port of its own.`,
        remedy: 'Remove it, or give the endpoint one "probe".',
        code: "CONFIG_PROBE_LIST",
      }),
    );
  }
  const probe = { ...(address === undefined ? {} : { address }), ...(port === undefined ? {} : { port }) };
  return {
    addresses,
    ...(Object.keys(probe).length === 0 ? {} : { probe }),
    ...(disabled === true ? { disabled } : {}),
  };
}

/** An address with the path of where it is written. */
type PlacedAddress = readonly [path: Path, address: string];

/** The addresses at `path`, which may be one alone or a list. */
function addressesAt(context: Context, path: Path, addresses: readonly string[]): PlacedAddress[] {
  const list = context.source.positions.isList(path);
  return addresses.map((address, index) => [list ? [...path, index] : path, address]);
}

function refuseDuplicates(context: Context, places: readonly PlacedAddress[]): void {
  const first = new Map<string, Path>();
  for (const [path, address] of places) {
    const other = first.get(address);
    if (other === undefined) {
      first.set(address, path);
      continue;
    }
    context.report(
      problemAt(context.source, path, {
        message: `${formatPath(path)} is ${quote(address)}, which is already at ${formatPath(other)}.`,
        remedy: "Keep one of them.",
        code: "CONFIG_ADDRESS_DUPLICATE",
      }),
    );
  }
}

/** Reports every address of the zone that no client could use. */
function refuseSpecial(context: Context): void {
  const { nameservers, endpoints = {} } = context.valid.value;
  const places: PlacedAddress[] = [];
  for (const [name, addresses] of Object.entries(nameservers)) {
    const list = typeof addresses === "string" ? [addresses] : addresses;
    places.push(...addressesAt(context, ["nameservers", name], list));
  }
  for (const [name, endpoint] of Object.entries(endpoints)) {
    for (const [id, target] of Object.entries(endpoint.targets)) {
      places.push(...targetAddresses(context, ["endpoints", name, "targets", id], target));
    }
    if (typeof endpoint.whenAllDown === "object") {
      const path = ["endpoints", name, "whenAllDown", "addresses"];
      places.push(...addressesAt(context, path, endpoint.whenAllDown.addresses));
    }
  }
  for (const [path, address] of places) {
    const kind = specialKind(address);
    if (kind === undefined) continue;
    context.report(
      problemAt(context.source, path, {
        message: `${formatPath(path)} is ${quote(address)}: that is ${kind}, which no client could use.`,
        remedy:
          'Write an address that clients reach, or "allowSpecialAddresses: true" at the top of the zone for a test.',
        code: "CONFIG_ADDRESS_SPECIAL",
      }),
    );
  }
}

/** Reports names that would get addresses from two places, of which answers could only give one. */
function checkNames(context: Context, endpoints: readonly EndpointConfig[]): void {
  const take = (path: Path, name: string, fqdn: string, what: string) => {
    const other = context.taken.get(fqdn);
    if (other === undefined) context.taken.set(fqdn, what);
    else {
      reportName(context, path, name, {
        why: `${fqdn} is already the name of ${other}`,
        remedy: "Rename one of them.",
        code: "CONFIG_NAME_TAKEN",
      });
    }
  };
  const keys = new Map(context.source.positions.keys(["endpoints"]).map((key) => [key.toLowerCase(), key]));
  for (const endpoint of endpoints) {
    const key = keys.get(endpoint.name) ?? endpoint.name;
    take(["endpoints", key], key, endpoint.fqdn, `the endpoint ${quote(key)}`);
  }
  for (const endpoint of endpoints) {
    const key = keys.get(endpoint.name) ?? endpoint.name;
    for (const { id } of endpoint.targets) {
      const path = ["endpoints", key, "targets", id];
      take(path, id, `${id}.${endpoint.fqdn}`, `the target ${quote(id)} of the endpoint ${quote(key)}`);
    }
  }
}

function buildRecords(context: Context): RecordsConfig | undefined {
  const text = context.valid.value.records;
  if (text === undefined) return undefined;
  const { source } = context;
  return {
    text,
    defaultTtl: context.ttl,
    locate: (line, column) => source.position(source.positions.inText(["records"], line, column)),
  };
}
