import type {
  AddressHealth,
  EndpointHealth,
  Health,
  Held,
  Override,
  ProbeResult,
  Snapshot,
  TargetHealth,
} from "./health.js";

/** What readers may know of one address; the monitor writes it, {@link Registry.snapshot} copies it. */
export interface WatchedAddress {
  readonly fqdn: string;
  readonly target: string;
  readonly address: string;
  health: Health;
  /** See {@link AddressHealth.sinceMs}. */
  sinceMs: number;
  last?: ProbeResult;
  held?: Held;
  isJoining?: boolean;
}

interface EndpointShape {
  readonly fqdn: string;
  readonly targets: readonly { readonly id: string; readonly addresses: readonly string[] }[];
}

/** The addresses that are watched, in configuration order, and the immutable picture of them. */
export interface Registry<Watcher extends { readonly view: WatchedAddress }> {
  /** Names of the endpoints that are watched now. */
  endpointNames(): ReadonlySet<string>;
  /**
   * Takes another set of endpoints. What stays keeps its watcher; `create` makes one for what is new.
   *
   * @returns the watchers of what is gone
   */
  replace<Endpoint extends EndpointShape>(
    endpoints: readonly Endpoint[],
    create: (endpoint: Endpoint, view: WatchedAddress) => Watcher,
  ): readonly Watcher[];
  /** Every watcher with its endpoint, which must be one of those last given to {@link replace}. */
  entries<Endpoint extends EndpointShape>(
    endpoints: readonly Endpoint[],
  ): Iterable<{ readonly endpoint: Endpoint; readonly watcher: Watcher }>;
  /** The watchers of one target; empty if it is not watched. */
  watchers(fqdn: string, target: string): readonly Watcher[];
  /** Says that `view` was written to. */
  touch(view: WatchedAddress): void;
  /** Says that the override of a target was set or has ended. */
  overrideChanged(fqdn: string, target: string): void;
  /** The picture now: objects of what was not touched are those of the picture before. */
  snapshot(): Snapshot;
}

/** One target or endpoint with its picture, absent while that is out of date. */
interface TargetNode<Watcher> {
  readonly id: string;
  readonly watchers: readonly Watcher[];
  picture?: TargetHealth;
}

interface EndpointNode<Watcher> {
  readonly fqdn: string;
  readonly targets: ReadonlyMap<string, TargetNode<Watcher>>;
  picture?: EndpointHealth;
}

/** @param overrideOf the override of a target that is in force; they are held elsewhere */
export function createRegistry<Watcher extends { readonly view: WatchedAddress }>(
  overrideOf: (fqdn: string, target: string) => Override | undefined,
): Registry<Watcher> {
  let nodes: ReadonlyMap<string, EndpointNode<Watcher>> = new Map();
  const pictures = new WeakMap<WatchedAddress, AddressHealth>();
  let picture: Snapshot | undefined;

  function outdate(fqdn: string, targetId: string): void {
    const node = nodes.get(fqdn);
    const target = node?.targets.get(targetId);
    if (node !== undefined) delete node.picture;
    if (target !== undefined) delete target.picture;
    picture = undefined;
  }

  function pictureOfTarget(fqdn: string, { id, watchers }: TargetNode<Watcher>): TargetHealth {
    const override = overrideOf(fqdn, id);
    const addresses = watchers.map(({ view }) => pictureOfAddress(view));
    return { id, addresses, ...(override === undefined ? {} : { override }) };
  }

  function pictureOfAddress(view: WatchedAddress): AddressHealth {
    const known = pictures.get(view);
    if (known !== undefined) return known;
    const { address, health, sinceMs, last, held, isJoining } = view;
    const made: AddressHealth = {
      address,
      health,
      sinceMs,
      ...(last === undefined ? {} : { last }),
      ...(held === undefined ? {} : { held }),
      ...(isJoining === true ? { isJoining } : {}),
    };
    pictures.set(view, made);
    return made;
  }

  function pictureOfEndpoint(node: EndpointNode<Watcher>): EndpointHealth {
    if (node.picture !== undefined) return node.picture;
    const targets = [...node.targets.values()].map((target) => {
      target.picture ??= pictureOfTarget(node.fqdn, target);
      return target.picture;
    });
    node.picture = { fqdn: node.fqdn, targets };
    return node.picture;
  }

  return {
    endpointNames: () => new Set(nodes.keys()),

    replace(endpoints, create) {
      const kept = new Set<Watcher>();
      const next = new Map<string, EndpointNode<Watcher>>();
      for (const endpoint of endpoints) {
        const { fqdn } = endpoint;
        const before = nodes.get(fqdn);
        const targets = new Map<string, TargetNode<Watcher>>();
        for (const { id, addresses } of endpoint.targets) {
          const old = before?.targets.get(id)?.watchers ?? [];
          const watchers = addresses.map((address) => {
            const stays = old.find(({ view }) => view.address === address);
            if (stays !== undefined) kept.add(stays);
            return stays ?? create(endpoint, { fqdn, target: id, address, health: "unknown", sinceMs: 0 });
          });
          targets.set(
            id,
            reuse(before?.targets.get(id), { id, watchers }, (node) => node.watchers),
          );
        }
        next.set(
          fqdn,
          reuse(before, { fqdn, targets }, (node) => [...node.targets.values()]),
        );
      }
      const gone = watchersOf(nodes).filter((watcher) => !kept.has(watcher));
      nodes = next;
      picture = undefined;
      return gone;
    },

    *entries(endpoints) {
      for (const endpoint of endpoints) {
        for (const target of nodes.get(endpoint.fqdn)?.targets.values() ?? []) {
          for (const watcher of target.watchers) yield { endpoint, watcher };
        }
      }
    },

    watchers: (fqdn, target) => nodes.get(fqdn)?.targets.get(target)?.watchers ?? [],

    touch(view) {
      pictures.delete(view);
      outdate(view.fqdn, view.target);
    },

    overrideChanged: outdate,

    snapshot() {
      if (picture === undefined) {
        const endpoints = new Map<string, EndpointHealth>();
        for (const node of nodes.values()) endpoints.set(node.fqdn, pictureOfEndpoint(node));
        picture = { endpoints };
      }
      return picture;
    },
  };
}

function watchersOf<Watcher>(nodes: ReadonlyMap<string, EndpointNode<Watcher>>): Watcher[] {
  return [...nodes.values()].flatMap(({ targets }) => [...targets.values()].flatMap(({ watchers }) => watchers));
}

/** The old node if it holds the same parts in the same order, so that its picture stays the same object. */
function reuse<Node>(before: Node | undefined, now: Node, partsOf: (node: Node) => readonly unknown[]): Node {
  if (before === undefined) return now;
  const old = partsOf(before);
  const parts = partsOf(now);
  return old.length === parts.length && old.every((part, index) => part === parts[index]) ? before : now;
}
