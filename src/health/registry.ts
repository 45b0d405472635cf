import type {
  AddressHealth,
  EndpointHealth,
  Health,
  Override,
  ProbeResult,
  Snapshot,
  Suppression,
  TargetHealth,
} from "./health.js";

/** What readers may know of one address; the monitor writes it, {@link Registry.snapshot} copies it. */
export interface ViewedAddress {
  readonly fqdn: string;
  readonly target: string;
  readonly address: string;
  health: Health;
  /** See {@link AddressHealth.sinceMs}. */
  sinceMs: number;
  last?: ProbeResult;
  held?: Suppression;
  isJoining?: boolean;
}

interface TargetShape {
  readonly id: string;
  readonly addresses: readonly string[];
  readonly disabled?: boolean;
}

interface EndpointShape {
  readonly fqdn: string;
  readonly targets: readonly TargetShape[];
}

/** One target with its picture, absent while that is out of date. */
interface TargetNode<Monitored> {
  readonly id: string;
  readonly addresses: readonly Monitored[];
  readonly isDisabled: boolean;
  picture?: TargetHealth;
}

interface EndpointNode<Monitored> {
  readonly fqdn: string;
  readonly targets: ReadonlyMap<string, TargetNode<Monitored>>;
  picture?: EndpointHealth;
}

/** The addresses that are monitored, in configuration order, and the immutable picture of them. */
export class Registry<Monitored extends { readonly view: ViewedAddress }> {
  #nodes = new Map<string, EndpointNode<Monitored>>();
  readonly #pictures = new WeakMap<ViewedAddress, AddressHealth>();
  readonly #overrideOf: (fqdn: string, target: string) => Override | undefined;
  #picture: Snapshot | undefined;

  /** @param overrideOf the override of a target that is in force; absent = there are none */
  constructor(overrideOf: (fqdn: string, target: string) => Override | undefined = () => undefined) {
    this.#overrideOf = overrideOf;
  }

  has(fqdn: string): boolean {
    return this.#nodes.has(fqdn);
  }

  /** Names of the endpoints that are monitored now. */
  names(): readonly string[] {
    return [...this.#nodes.keys()];
  }

  /**
   * Takes a new or changed endpoint. An address that stays keeps its entry; `create` makes one for a new address.
   *
   * @returns the addresses that are gone
   */
  setEndpoint<Endpoint extends EndpointShape>(
    endpoint: Endpoint,
    create: (view: ViewedAddress) => Monitored,
  ): readonly Monitored[] {
    const { fqdn } = endpoint;
    const before = this.#nodes.get(fqdn);
    const kept = new Set<Monitored>();
    const targets = new Map<string, TargetNode<Monitored>>();
    for (const { id, addresses: literals, disabled: isDisabled = false } of endpoint.targets) {
      const old = before?.targets.get(id);
      const addresses = literals.map((address) => {
        const stays = old?.addresses.find(({ view }) => view.address === address);
        const one = stays ?? create({ fqdn, target: id, address, health: "unknown", sinceMs: 0 });
        kept.add(one);
        return one;
      });
      const isSame = old?.isDisabled === isDisabled && isSameList(old.addresses, addresses);
      targets.set(id, isSame ? old : { id, addresses, isDisabled });
    }
    const isSame = before !== undefined && isSameList([...before.targets.values()], [...targets.values()]);
    this.#nodes.set(fqdn, isSame ? before : { fqdn, targets });
    this.#picture = undefined;
    return addressesOf(before).filter((address) => !kept.has(address));
  }

  /** @returns the addresses that are gone */
  removeEndpoint(fqdn: string): readonly Monitored[] {
    const node = this.#nodes.get(fqdn);
    this.#nodes.delete(fqdn);
    this.#picture = undefined;
    return addressesOf(node);
  }

  /** Puts the endpoints into this order, which must name each once. */
  reorder(fqdns: readonly string[]): void {
    if (isSameList(this.names(), fqdns)) return;
    const nodes = fqdns.flatMap((fqdn) => this.#nodes.get(fqdn) ?? []);
    this.#nodes = new Map(nodes.map((node) => [node.fqdn, node]));
    this.#picture = undefined;
  }

  /** The addresses of one target; empty if it is not monitored. */
  addresses(fqdn: string, target: string): readonly Monitored[] {
    return this.#nodes.get(fqdn)?.targets.get(target)?.addresses ?? [];
  }

  /** The targets of one endpoint; empty if it is not monitored. */
  targets(fqdn: string): readonly {
    readonly addresses: readonly Monitored[];
    readonly override?: Override;
    readonly disabled?: true;
  }[] {
    const targets = [...(this.#nodes.get(fqdn)?.targets.values() ?? [])];
    return targets.map((target) => ({ addresses: target.addresses, ...this.#marksOf(fqdn, target) }));
  }

  /** Says that `view` was written to. */
  touch(view: ViewedAddress): void {
    this.#pictures.delete(view);
    this.outdate(view.fqdn, view.target);
  }

  /** Says that what belongs to a target has changed, such as its override. */
  outdate(fqdn: string, targetId: string): void {
    const node = this.#nodes.get(fqdn);
    const target = node?.targets.get(targetId);
    if (node !== undefined) delete node.picture;
    if (target !== undefined) delete target.picture;
    this.#picture = undefined;
  }

  /** The picture now: objects of what was not touched are those of the picture before. */
  snapshot(): Snapshot {
    if (this.#picture === undefined) {
      const endpoints = new Map<string, EndpointHealth>();
      for (const node of this.#nodes.values()) endpoints.set(node.fqdn, this.#pictureOfEndpoint(node));
      this.#picture = { endpoints };
    }
    return this.#picture;
  }

  #pictureOfEndpoint(node: EndpointNode<Monitored>): EndpointHealth {
    if (node.picture !== undefined) return node.picture;
    const targets = [...node.targets.values()].map((target) => {
      target.picture ??= {
        id: target.id,
        addresses: target.addresses.map(({ view }) => this.#pictureOfAddress(view)),
        ...this.#marksOf(node.fqdn, target),
      };
      return target.picture;
    });
    node.picture = { fqdn: node.fqdn, targets };
    return node.picture;
  }

  #marksOf(fqdn: string, { id, isDisabled }: TargetNode<Monitored>): Pick<TargetHealth, "override" | "disabled"> {
    const override = this.#overrideOf(fqdn, id);
    return { ...(override === undefined ? {} : { override }), ...(isDisabled ? { disabled: true } : {}) };
  }

  #pictureOfAddress(view: ViewedAddress): AddressHealth {
    const known = this.#pictures.get(view);
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
    this.#pictures.set(view, made);
    return made;
  }
}

function addressesOf<Monitored>(node: EndpointNode<Monitored> | undefined): readonly Monitored[] {
  return [...(node?.targets.values() ?? [])].flatMap(({ addresses }) => addresses);
}

function isSameList(before: readonly unknown[], now: readonly unknown[]): boolean {
  return before.length === now.length && before.every((one, index) => one === now[index]);
}
