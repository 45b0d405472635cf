import type { MetricsSource } from "../admin/metrics-source.js";
import type { Status } from "../admin/schemas.js";
import { formatAddress } from "../lib/listening.js";
import type { Peer } from "../siblings/host.js";
import type { Siblings } from "../siblings/siblings.js";
import type { ServedEndpoints } from "./endpoints.js";
import type { SiblingParts } from "./siblings.js";
import type { ServerState } from "./state.js";
import { zoneDigest } from "./zone-digest.js";

/** Most endpoints that are shown as answered differently. */
const MAX_DIFFERENCES = 20;

type SiblingsStatus = NonNullable<Status["siblings"]>;

/** What siblings are shown by. */
export interface SiblingViewsParts {
  readonly siblings: Pick<Siblings, "name" | "peers">;
  readonly sight: { readonly isCutOff: boolean };
  readonly state: ServerState;
  readonly served: ServedEndpoints;
}

/** Siblings as operators see them. */
export class SiblingViews {
  readonly #parts: SiblingViewsParts;
  /** Digests of the zones of one configuration. */
  #digests: { readonly of: object; readonly byZone: ReadonlyMap<string, string> } | undefined;

  constructor(parts: SiblingViewsParts) {
    this.#parts = parts;
  }

  status(): SiblingsStatus {
    const { siblings, sight } = this.#parts;
    return { name: siblings.name, cutOff: sight.isCutOff, peers: siblings.peers().map((peer) => this.#view(peer)) };
  }

  /** For the gauges. */
  rows(): ReturnType<NonNullable<MetricsSource["siblings"]>> {
    return this.#parts.siblings.peers().map((peer) => {
      const { heard } = peer;
      return {
        sibling: peer.name,
        isFresh: peer.condition === "fresh",
        ...(heard?.beat === undefined
          ? {}
          : { clockDifferenceMs: heard.clockDifferenceMs, zonesDiffer: this.#zonesDiffer(peer).length }),
      };
    });
  }

  #view(peer: Peer): SiblingsStatus["peers"][number] {
    const { name, at, condition, sinceMs, trouble, heard } = peer;
    const shown = {
      name,
      address: formatAddress(at),
      condition,
      sinceMs,
      ...(trouble === undefined ? {} : { trouble }),
      ...notKept(peer),
    };
    if (heard?.beat === undefined) return shown;
    return {
      ...shown,
      clockDifferenceMs: Math.round(heard.clockDifferenceMs),
      zonesDiffer: this.#zonesDiffer(peer),
      differences: this.#differences(peer),
    };
  }

  #zonesDiffer({ heard }: Peer): string[] {
    const { config } = this.#parts.state;
    if (this.#digests?.of !== config) {
      this.#digests = { of: config, byZone: new Map(config.zones.map((zone) => [zone.zone, zoneDigest(zone)])) };
    }
    const theirs = new Map(heard?.zones.map(({ zone, digest }) => [zone, digest]));
    return [...this.#digests.byZone].filter(([zone, digest]) => theirs.get(zone) !== digest).map(([zone]) => zone);
  }

  #differences({ heard }: Peer): NonNullable<SiblingsStatus["peers"][number]["differences"]> {
    const found = [];
    for (const [fqdn, { answerable }] of this.#parts.served.endpoints) {
      const theirs = heard?.endpoints.get(fqdn);
      if (theirs === undefined) continue;
      const [here, there] = [answerable.addresses.map(({ address }) => address), theirs.answers];
      if ([...here].sort().join() === [...there].sort().join()) continue;
      found.push({ endpoint: fqdn, here, there: [...there] });
      if (found.length === MAX_DIFFERENCES) break;
    }
    return found;
  }
}

/** Where overrides of the other one could not be saved. */
function notKept({ isNotKept = false, keepsNothing = false }: Peer): {
  readonly overridesNotKept?: "here" | "there" | "both";
} {
  if (!isNotKept && !keepsNothing) return {};
  return { overridesNotKept: isNotKept && keepsNothing ? "both" : isNotKept ? "here" : "there" };
}

/** What operators see of siblings and of isolation, with or without siblings. */
export function siblingsShown(options: {
  readonly parts: SiblingParts | undefined;
  readonly monitor: { readonly isolated: boolean };
  readonly sight: { readonly isCutOff: boolean };
  readonly state: ServerState;
  readonly served: ServedEndpoints;
}) {
  const { parts, monitor, sight, state, served } = options;
  const views = parts && new SiblingViews({ siblings: parts.siblings, sight, state, served });
  return {
    /** Whether the prober is presumed cut off, alone or by what siblings see. */
    isIsolated: (): boolean => monitor.isolated || sight.isCutOff,
    rows: () => views?.rows() ?? [],
    /** How overrides come to hold on siblings; undefined where they do not. */
    sharing: () => (state.config.siblings?.shareOverrides === false ? undefined : parts?.sharing),
    ...(views && { siblings: () => ({ siblings: views.status() }) }),
  };
}
