import type { TargetConfig } from "./config.js";
import { parseName } from "./name.js";
import type { Path } from "./positions.js";
import { formatPath } from "./quote.js";
import type { EndpointInput, TargetInput } from "./schema-zone.js";
import { problemAt, problemAtKey } from "./source.js";
import { isLongForm, type PlacedAddress, refuseDuplicates, targetAddresses } from "./zone-addresses.js";
import { entriesOf, type ZoneContext } from "./zone-context.js";
import { duplicateFault, reportName, tooLong } from "./zone-names.js";

export function buildTargets(context: ZoneContext, endpoint: Path, fqdn: string, input: EndpointInput): TargetConfig[] {
  const mapping = input.targets ?? {};
  const path = [...endpoint, "targets"];
  if (input.targets === undefined && input.discover === undefined) reportMissing(context, endpoint);
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
  if (input.targets !== undefined && Object.keys(mapping).length === 0 && !context.valid.damaged(path)) {
    context.report(
      problemAt(context.source, path, {
        message: `${formatPath(path)} is empty, but an endpoint needs at least one target.`,
        remedy: 'Write the apiservers below it, such as "cp1: 192.0.2.11".',
        code: "CONFIG_TARGETS_EMPTY",
      }),
    );
  } else if (input.discover === undefined && targets.length > 0 && targets.every(({ disabled }) => disabled)) {
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

/** Reports an endpoint that names neither targets nor where to find them. */
function reportMissing({ source, valid, report }: ZoneContext, endpoint: Path): void {
  if (valid.damaged([...endpoint, "targets"]) || valid.damaged([...endpoint, "discover"])) return;
  const path = [...endpoint, "targets"];
  report(
    problemAtKey(source, endpoint, {
      message: `${formatPath(path)} is missing.`,
      remedy: 'Add "targets" with the apiservers below it, such as "cp1: 192.0.2.11", or "discover".',
      code: "CONFIG_MISSING",
    }),
  );
}

function buildTarget(
  context: ZoneContext,
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
