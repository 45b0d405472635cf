import type { Name } from "../wire/name.js";
import { nextSerial } from "../zone/serial.js";
import type { Zone, ZoneEndpoint } from "../zone/zone.js";
import type { CompiledNode, CompiledZone, ZoneUpdate } from "./answer.js";
import { compileNodata, compileNode, compileNxdomain, type NodeCompilation } from "./compile.js";
import { createLiveZone, type EndpointAnswers } from "./live-zone.js";

/** A zone whose answers follow health: compiles whole once, and afterwards what a change touches. */
export interface PublishedZone {
  readonly zone: Zone;
  /** The serial that is published now. */
  readonly serial: number;
  /** All answers as they stand. */
  compile(): CompiledZone;
  /**
   * Takes what an endpoint answers from now on.
   *
   * @param wallMs the present, for the serial
   * @returns the answers that changed, with a new serial; undefined if what it answers is what it was
   */
  update(endpoint: ZoneEndpoint, answers: EndpointAnswers, wallMs: number): ZoneUpdate | undefined;
}

/** Compilations of one name that are kept. */
const MAX_KEPT = 16;

/** What a node takes besides its answers. */
const NODE_OCTETS = 500;

/** Octets of answers that a zone keeps besides those it gives; past it all are let go, and the next are kept anew. */
const MAX_KEPT_OCTETS = 1 << 20;

/**
 * Begins publishing a zone.
 *
 * @param lastSerial the serial published before, which the first one exceeds
 * @param answers what each endpoint answers at the beginning, by fqdn
 */
export function publishZone(
  zone: Zone,
  answers: ReadonlyMap<string, EndpointAnswers>,
  wallMs: number,
  lastSerial?: number,
): PublishedZone {
  const living = createLiveZone(zone);
  for (const endpoint of zone.endpoints) {
    const now = answers.get(endpoint.fqdn);
    if (now !== undefined) living.update(endpoint, now);
  }
  let serial = nextSerial(lastSerial, wallMs);
  /** Name → the names whose answers were made from it. */
  const dependents = new Map<Name, Set<Name>>();
  /** What changes have compiled, by name: health goes to and fro, and what it comes back to need not be made again. */
  const kept = new Map<Name, NodeCompilation[]>();
  let keptOctets = 0;
  const compile = (name: Name): NodeCompilation => {
    const compilation = compileNode(living.view, name);
    for (const read of compilation.reads.keys()) {
      const readers = dependents.get(read);
      if (readers === undefined) dependents.set(read, new Set([name]));
      else readers.add(name);
    }
    return compilation;
  };
  const isCurrent = ({ reads }: NodeCompilation): boolean => {
    for (const [name, rrsets] of reads) if (living.view.rrsets(name) !== rrsets) return false;
    return true;
  };
  const recall = (name: Name): NodeCompilation => {
    const candidates = kept.get(name) ?? [];
    const found = candidates.find(isCurrent);
    if (found !== undefined) return found;
    const compilation = compile(name);
    keptOctets += octetsOf(compilation.node);
    if (keptOctets > MAX_KEPT_OCTETS) {
      kept.clear();
      keptOctets = 0;
    } else {
      kept.set(name, [compilation, ...candidates.slice(0, MAX_KEPT - 1)]);
    }
    return compilation;
  };
  return {
    zone,
    get serial() {
      return serial;
    },
    compile: () => ({
      name: zone.name,
      serial,
      nodata: compileNodata(living.view),
      nxdomain: compileNxdomain(living.view),
      nodes: [...zone.names].map((name) => ({ name, node: compile(name).node })),
    }),
    update(endpoint, now, at) {
      const changed = living.update(endpoint, now);
      if (changed.size === 0) return undefined;
      const touched = new Set<Name>();
      for (const name of changed) {
        if (zone.names.has(name)) touched.add(name);
        for (const reader of dependents.get(name) ?? []) touched.add(reader);
      }
      serial = nextSerial(serial, at);
      return { zone: zone.name, serial, nodes: [...touched].map((name) => ({ name, node: recall(name).node })) };
    },
  };
}

/** What a node takes, by and large. */
function octetsOf({ types, fallback }: CompiledNode): number {
  const answers = types.map(({ answer }) => answer);
  if (fallback !== "nodata") answers.push(fallback);
  return answers.reduce((sum, { body, pointers }) => sum + body.length + 4 * pointers.length, NODE_OCTETS);
}
