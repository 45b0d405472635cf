import { buildDiscover } from "./build-discovery.js";
import { buildEndpointProbe, type ProbeLayer, probeLayer } from "./build-probe.js";
import { buildTargets } from "./build-targets.js";
import type { EndpointConfig, WhenAllDown } from "./config.js";
import { parseName } from "./name.js";
import { builtIn } from "./option.js";
import type { Path } from "./positions.js";
import { formatPath, quote } from "./quote.js";
import { type EndpointInput, endpointOptions } from "./schema-zone.js";
import { problemAt, problemAtKey } from "./source.js";
import { addressesAt, isLongForm, refuseDuplicates } from "./zone-addresses.js";
import { entriesOf, type ZoneContext } from "./zone-context.js";
import { duplicateFault, repeatsZone, reportName, tooLong } from "./zone-names.js";

/** Longest prefix of names that livezone publishes for an endpoint by itself. */
const SERVICE_PREFIX = "_https._tcp.";

export function buildEndpoints(context: ZoneContext): EndpointConfig[] {
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
function endpointOwner(context: ZoneContext, at: Path, name: string): string | undefined {
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

function buildEndpoint(context: ZoneContext, at: Path, name: string, input: EndpointInput): EndpointConfig {
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
  const count = Object.values(input.targets ?? {}).filter((one) => !isLongForm(one) || one.disabled !== true).length;
  if (minHealthy > count && count > 0 && input.discover === undefined && !valid.damaged([...at, "targets"])) {
    const path = [...at, "minHealthy"];
    report(
      problemAt(source, path, {
        message: `${formatPath(path)} is ${minHealthy}, but there ${count === 1 ? "is 1 target" : `are ${count} targets`}: the endpoint would always count as all down.`,
        remedy: `Use at most ${count}.`,
        code: "CONFIG_MIN_HEALTHY",
      }),
    );
  }
  const discover = buildDiscover(context, at, { fqdn, probe }, input);
  return {
    position: source.position(source.positions.key(at)),
    name,
    fqdn,
    port,
    ttl: input.ttl ?? context.ttl,
    targets,
    ...(discover === undefined ? {} : { discover }),
    probe,
    whenAllDown: buildWhenAllDown(context, [...at, "whenAllDown"], input),
    minHealthy,
    whenUnknown: input.whenUnknown ?? builtIn(endpointOptions.whenUnknown),
    ...(input.maxAnswers === undefined ? {} : { maxAnswers: input.maxAnswers }),
    statusRecord: input.statusRecord ?? builtIn(endpointOptions.statusRecord),
  };
}

function buildWhenAllDown(context: ZoneContext, at: Path, input: EndpointInput): WhenAllDown {
  const value = input.whenAllDown ?? "all";
  if (typeof value === "string") return { kind: value };
  refuseDuplicates(context, addressesAt(context, [...at, "addresses"], value.addresses));
  return { kind: "addresses", addresses: value.addresses };
}

/** The endpoint's own probe, or each of its probes. */
function ownLayers({ source, valid }: ZoneContext, at: Path, { probe }: EndpointInput): readonly ProbeLayer[] {
  if (probe === undefined) return [];
  const list: readonly ProbeLayer["options"][] = Array.isArray(probe) ? probe : [probe];
  return list.flatMap((options, index) => {
    const layer = probeLayer(source, valid, Array.isArray(probe) ? [...at, index] : at, options);
    return layer === undefined ? [] : [layer];
  });
}
