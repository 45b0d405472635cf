import path from "node:path";
import type { EndpointConfig, Position } from "./config.js";
import type { DiscoverConfig, DiscoverSourceConfig } from "./discovery.js";
import { builtIn } from "./option.js";
import type { Path } from "./positions.js";
import { singleProbes } from "./probe-list.js";
import { formatPath } from "./quote.js";
import { discoverOptions, forgetAfter, MAX_TARGETS, maxTargets, sourceTypesOf } from "./schema-discovery.js";
import type { EndpointInput } from "./schema-zone.js";
import { problemAt, problemAtKey } from "./source.js";
import type { ZoneContext } from "./zone-context.js";

type SourceInput = NonNullable<EndpointInput["discover"]>[number];

/** Completes `discover` and what stands beside it; undefined where there is none. What makes no sense is reported. */
export function buildDiscover(
  context: ZoneContext,
  endpoint: Path,
  { fqdn, probe }: Pick<EndpointConfig, "fqdn" | "probe">,
  input: EndpointInput,
): DiscoverConfig | undefined {
  const at = [...endpoint, "discover"];
  if (input.discover === undefined) {
    if (!context.valid.damaged(at)) refuseLonely(context, endpoint, input);
    return undefined;
  }
  if (singleProbes(probe).every(({ type }) => type === "none")) {
    report(context, at, {
      message: `${formatPath(at)} is given, but the targets are not probed: discovery only proposes, probes decide.`,
      remedy: 'Use a probe of type "https".',
      code: "CONFIG_DISCOVER_UNPROBED",
    });
  } else if (!singleProbes(probe).some((one) => one.type === "https" && !one.insecureSkipVerify)) {
    report(context, at, {
      message: `${formatPath(at)} is given, but the probes verify no certificate: whatever listens at a discovered address is answered.`,
      remedy: 'Use a probe of type "https" with "ca".',
      code: "CONFIG_DISCOVER_UNVERIFIED",
      severity: "warning",
    });
  }
  warnOfFullEndpoint(context, endpoint, input);
  const taken = new Set<string>();
  const sources = input.discover.flatMap((source, index): DiscoverSourceConfig[] => {
    const built = buildSource(context, [...at, index], fqdn, source);
    if (built === undefined) return [];
    let name = built.name;
    for (let count = 2; taken.has(name); count += 1) name = `${built.name}#${count}`;
    taken.add(name);
    return [{ ...built, name }];
  });
  return {
    sources,
    forgetAfterMs: input.forgetAfter ?? builtIn(forgetAfter),
    maxTargets: input.maxTargets ?? builtIn(maxTargets),
  };
}

/** Warns where what is written leaves no room for anything that is discovered. */
function warnOfFullEndpoint(context: ZoneContext, endpoint: Path, input: EndpointInput): void {
  const most = input.maxTargets ?? builtIn(maxTargets);
  const written = Object.keys(input.targets ?? {}).length;
  if (written < most) return;
  const at = input.maxTargets === undefined ? [...endpoint, "discover"] : [...endpoint, "maxTargets"];
  report(context, at, {
    message: `${formatPath([...endpoint, "maxTargets"])} is ${most}, and ${written} targets are written: no discovered target has room.`,
    remedy: `Write a greater maxTargets, at most ${MAX_TARGETS}, or remove targets.`,
    code: "CONFIG_DISCOVER_NO_ROOM",
    severity: "warning",
  });
}

/** Reports options that mean nothing in an endpoint without `discover`. */
function refuseLonely(context: ZoneContext, endpoint: Path, input: EndpointInput): void {
  for (const key of ["forgetAfter", "maxTargets"] as const) {
    if (input[key] === undefined) continue;
    const name = [...endpoint, key];
    context.report(
      problemAtKey(context.source, name, {
        message: `${formatPath(name)} is given without "discover": there is nothing that it could hold for.`,
        remedy: "Remove it.",
        code: "CONFIG_DISCOVER_OPTION",
      }),
    );
  }
}

function buildSource(
  context: ZoneContext,
  at: Path,
  fqdn: string,
  input: SourceInput,
): DiscoverSourceConfig | undefined {
  refuseForeign(context, at, input);
  const position = context.source.position(context.source.positions.value(at));
  switch (input.type) {
    case "kubernetes":
      return buildKubernetes(context, at, position, input);
    case "dns":
      return buildDns(context, at, position, fqdn, input);
    case "file": {
      if (input.path === undefined) return missing(context, at, "path", 'such as "path: targets.json"');
      const file = path.resolve(context.source.directory, input.path);
      return { type: "file", name: `file:${input.path}`, position, path: file };
    }
  }
}

/** Reports options that the type of the source does not have. */
function refuseForeign(context: ZoneContext, at: Path, input: SourceInput): void {
  for (const key of Object.keys(input) as (keyof typeof discoverOptions)[]) {
    const types = sourceTypesOf.get(discoverOptions[key])?.types ?? [];
    if (key === "type" || input[key] === undefined || types.includes(input.type)) continue;
    const name = [...at, key];
    context.report(
      problemAtKey(context.source, name, {
        message: `${formatPath(name)} is given, but a source of type ${input.type} has no such option.`,
        remedy: `Remove it, or use "type: ${types.join('" or "type: ')}".`,
        code: "CONFIG_DISCOVER_OPTION",
      }),
    );
  }
}

function buildKubernetes(
  context: ZoneContext,
  at: Path,
  position: Position,
  input: SourceInput,
): DiscoverSourceConfig | undefined {
  const { kubeconfig, inCluster, selector } = input;
  const resource = input.resource ?? builtIn(discoverOptions.resource);
  if (kubeconfig !== undefined && inCluster === true) {
    const name = [...at, "inCluster"];
    context.report(
      problemAtKey(context.source, name, {
        message: `${formatPath(name)} is given beside kubeconfig: there is one credential.`,
        remedy: "Remove one of them.",
        code: "CONFIG_DISCOVER_CREDENTIAL",
      }),
    );
  }
  if (kubeconfig === undefined && inCluster !== true) {
    report(context, at, {
      message: `${formatPath(at)} names no credential for the API.`,
      remedy: 'Add "kubeconfig: FILE", or "inCluster: true" where livezone runs in a Pod.',
      code: "CONFIG_DISCOVER_CREDENTIAL",
    });
    return undefined;
  }
  return {
    type: "kubernetes",
    name: `kubernetes:${resource}`,
    position,
    ...(kubeconfig === undefined ? {} : { kubeconfig: path.resolve(context.source.directory, kubeconfig) }),
    resource,
    ...(selector === undefined ? {} : { selector }),
    addressType: input.addressType ?? builtIn(discoverOptions.addressType),
    honorCordon: input.honorCordon ?? builtIn(discoverOptions.honorCordon),
  };
}

function buildDns(
  context: ZoneContext,
  at: Path,
  position: Position,
  fqdn: string,
  input: SourceInput,
): DiscoverSourceConfig | undefined {
  const { name, server } = input;
  if (name === undefined) return missing(context, at, "name", "such as masters.corp.example.com");
  if (server === undefined) return missing(context, at, "server", 'such as "10.0.0.53"');
  if (name === fqdn) {
    const where = [...at, "name"];
    report(context, where, {
      message: `${formatPath(where)} is the endpoint's own name, which livezone answers itself.`,
      remedy: "Write another name, whose records somebody else keeps.",
      code: "CONFIG_DISCOVER_OWN_NAME",
    });
  }
  return {
    type: "dns",
    name: `dns:${name}`,
    position,
    query: name,
    server,
    intervalMs: input.interval ?? builtIn(discoverOptions.interval),
    records: input.records ?? (name.startsWith("_") ? ["SRV"] : ["A", "AAAA"]),
  };
}

function missing(context: ZoneContext, at: Path, key: string, example: string): undefined {
  report(context, at, {
    message: `${formatPath(at)} has no "${key}".`,
    remedy: `Add "${key}", ${example}.`,
    code: "CONFIG_DISCOVER_MISSING",
  });
  return undefined;
}

function report(context: ZoneContext, at: Path, finding: Parameters<typeof problemAt>[2]): void {
  context.report(problemAt(context.source, at, finding));
}
