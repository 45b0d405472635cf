import type { ProbeLayer } from "./build-probe.js";
import type { Path } from "./positions.js";
import type { ZoneInput } from "./schema-zone.js";
import type { Report, Source } from "./source.js";
import type { Valid } from "./validate.js";

/** Everything that building the parts of one zone needs. */
export interface ZoneContext {
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

/** The entries of a mapping in the order written. */
export function entriesOf<T>(context: ZoneContext, path: Path, mapping: Readonly<Record<string, T>>): [string, T][] {
  return context.source.positions.keys(path).flatMap((key): [string, T][] => {
    const value = Object.hasOwn(mapping, key) ? mapping[key] : undefined;
    return value === undefined ? [] : [[key, value]];
  });
}
