import type { Name } from "../wire/name.js";
import { nextSerial } from "../zone/serial.js";
import type { Zone, ZoneEndpoint } from "../zone/zone.js";
import type { CompiledZone, NamedNode, ZoneUpdate } from "./answer.js";
import { compileNodata, compileNode, compileNxdomain } from "./compile.js";
import { createLivingZone, type EndpointAnswers } from "./view.js";

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
  const living = createLivingZone(zone);
  const published = new Map<string, string>();
  for (const endpoint of zone.endpoints) {
    const now = answers.get(endpoint.fqdn);
    if (now === undefined) continue;
    living.update(endpoint, now);
    published.set(endpoint.fqdn, fingerprint(now));
  }
  let serial = nextSerial(lastSerial, wallMs);
  /** Name → the names whose answers were made from it. */
  const dependents = new Map<Name, Set<Name>>();
  const compile = (name: Name): NamedNode => {
    const { node, reads } = compileNode(living.view, name);
    for (const read of reads) {
      const readers = dependents.get(read);
      if (readers === undefined) dependents.set(read, new Set([name]));
      else readers.add(name);
    }
    return { name, node };
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
      nodes: [...zone.names].map(compile),
    }),
    update(endpoint, now, at) {
      const print = fingerprint(now);
      if (published.get(endpoint.fqdn) === print) return undefined;
      published.set(endpoint.fqdn, print);
      const touched = new Set<Name>();
      for (const name of living.update(endpoint, now)) {
        if (zone.names.has(name)) touched.add(name);
        for (const reader of dependents.get(name) ?? []) touched.add(reader);
      }
      serial = nextSerial(serial, at);
      return { zone: zone.name, serial, nodes: [...touched].map(compile) };
    },
  };
}

/** Equal for equal answers. */
function fingerprint({ addresses, status = [] }: EndpointAnswers): string {
  return [...addresses.map(({ target, address }) => `${target} ${address}`), ...status].join(",");
}
