import type { SiblingsConfig } from "../config/config.js";
import type { AnswerableAddress, AnswerPolicy } from "../health/answerable.js";
import {
  type CutOffState,
  NOT_CUT_OFF,
  type OwnSight,
  observeSiblings,
  ownSight,
  type SiblingsSight,
} from "../health/cut-off.js";
import type { EndpointHealth, Snapshot } from "../health/health.js";
import { type SiblingSight, vouchedAddresses } from "../health/second-opinion.js";
import type { Clock, Timer } from "../lib/clock.js";
import type { Peer } from "../siblings/host.js";
import { verdictOf } from "../siblings/peer-state.js";
import type { Subscriber } from "./events.js";

/** Time between two looks at what follows from time alone, while something does, milliseconds. */
const LOOK_MS = 100;

/** What the sight acts on. */
export interface SiblingSightParts {
  readonly clock: Clock;
  snapshot(): Snapshot;
  /** Absent = no siblings. */
  config(): Pick<SiblingsConfig, "holdAtMostMs"> | undefined;
  /** Whether every target has had its first probe, or the time for it has passed. */
  isStarted(): boolean;
  /** What these endpoints answer may have changed. */
  follow(fqdns: readonly string[]): void;
  /** This server is cut off while a sibling is not, or is so no more. */
  onCutOff(): void;
}

/** What the siblings that count see, and what follows from it for the answers of this server. */
export class SiblingSightOf {
  readonly #parts: SiblingSightParts;
  #siblings: { fresh(): readonly Peer[] } | undefined;
  #state: CutOffState = NOT_CUT_OFF;
  /** Monotonic moment at which an address was found down, by endpoint and by address. */
  readonly #downSince = new Map<string, ReadonlyMap<string, number>>();
  /** Endpoints that name an address only since a sibling sees it up. */
  readonly #vouching = new Set<string>();
  #timer: Timer | undefined;

  constructor(parts: SiblingSightParts) {
    this.#parts = parts;
  }

  /** The siblings are there from now on. */
  connect(siblings: { fresh(): readonly Peer[] }): void {
    this.#siblings = siblings;
  }

  /** Whether this server is cut off from every target, and a sibling is not. */
  get isCutOff(): boolean {
    return this.#state.isCutOff;
  }

  /** What the newest probes of this server have met. */
  own(): OwnSight {
    return ownSight(this.#parts.snapshot().endpoints.values()).own;
  }

  /** Whether siblings know better than this server whether it is cut off. */
  get knowsBetter(): boolean {
    const seen = this.#seenBySiblings();
    return seen === "some-up" || seen === "none-up";
  }

  /** Addresses of an endpoint that count as up because siblings see them up. */
  vouched(health: EndpointHealth, policy: Pick<AnswerPolicy, "minHealthy">): readonly AnswerableAddress[] {
    const config = this.#parts.config();
    if (this.#siblings === undefined || config === undefined) return [];
    this.#noteDown(health);
    this.#observe(health);
    const fresh = this.#siblings.fresh();
    if (fresh.length === 0) return [];
    const nowMs = this.#parts.clock.monotonicMs();
    const { fqdn } = health;
    const vouched = vouchedAddresses(health, policy, {
      sees: (address) => seenBy(fresh, fqdn, address),
      downForMs: (address) => nowMs - (this.#downSince.get(fqdn)?.get(address) ?? nowMs),
      holdAtMostMs: config.holdAtMostMs,
      isCutOff: this.#state.isCutOff,
      isStarting: !this.#parts.isStarted(),
    });
    if (vouched.length === 0) this.#vouching.delete(fqdn);
    else this.#vouching.add(fqdn);
    this.#plan();
    return vouched;
  }

  /** Siblings see something else, or others of them count. */
  viewsChanged(fqdns: readonly string[] | "all"): void {
    const { endpoints } = this.#parts.snapshot();
    const all = this.#look() || fqdns === "all" ? [...endpoints.keys()] : fqdns;
    this.#parts.follow(all);
  }

  /** Subscriber that looks again when probes have found something. */
  subscriber(): Subscriber {
    return {
      "probe-finished": ({ report: { result } }) => {
        if (this.#siblings !== undefined && (this.#state.isCutOff || result.class !== "ok")) this.#plan();
      },
      ready: () => this.viewsChanged("all"),
      "zones-replaced": () => this.#forget(),
    };
  }

  stop(): void {
    this.#timer?.cancel();
    this.#siblings = undefined;
  }

  #plan(): void {
    this.#timer ??= this.#parts.clock.after(LOOK_MS, () => {
      this.#timer = undefined;
      this.viewsChanged([...this.#vouching]);
      if (this.#vouching.size > 0 || this.#state.isCutOff) this.#plan();
    });
  }

  /** @returns whether this server is cut off now and was not before, or the other way round */
  #look(): boolean {
    const before = this.#state.isCutOff;
    this.#observe();
    return before !== this.#state.isCutOff;
  }

  /** @param newest health of an endpoint that the snapshot may not show yet */
  #observe(newest?: EndpointHealth): void {
    const { snapshot, clock, onCutOff } = this.#parts;
    const before = this.#state;
    const { own, isSomeDown } = ownSight([...(newest === undefined ? [] : [newest]), ...snapshot().endpoints.values()]);
    this.#state = observeSiblings(before, {
      own,
      isSomeDown,
      siblings: this.#seenBySiblings(),
      nowMs: clock.monotonicMs(),
    });
    if (before.isCutOff !== this.#state.isCutOff) onCutOff();
  }

  #seenBySiblings(): SiblingsSight {
    const fresh = this.#siblings?.fresh() ?? [];
    if (fresh.length === 0) return "nobody";
    if (fresh.some(({ heard }) => [...(heard?.endpoints.values() ?? [])].some(({ up }) => up.length > 0)))
      return "some-up";
    return fresh.every(({ heard }) => heard?.beat?.sight === "network" || heard?.beat?.sight === "unknown")
      ? "cut-off"
      : "none-up";
  }

  #noteDown({ fqdn, targets }: EndpointHealth): void {
    const nowMs = this.#parts.clock.monotonicMs();
    const before = this.#downSince.get(fqdn);
    const down = targets.flatMap(({ addresses }) => addresses.filter(({ health }) => health === "down"));
    if (down.length === 0) this.#downSince.delete(fqdn);
    else this.#downSince.set(fqdn, new Map(down.map(({ address }) => [address, before?.get(address) ?? nowMs])));
  }

  /** Endpoints that are not served any more. */
  #forget(): void {
    const { endpoints } = this.#parts.snapshot();
    for (const fqdn of this.#downSince.keys()) if (!endpoints.has(fqdn)) this.#downSince.delete(fqdn);
    for (const fqdn of this.#vouching) if (!endpoints.has(fqdn)) this.#vouching.delete(fqdn);
  }
}

function seenBy(fresh: readonly Peer[], fqdn: string, address: string): SiblingSight {
  const verdicts = fresh.map(({ heard }) => verdictOf(heard?.endpoints.get(fqdn), address));
  if (verdicts.includes("up")) return "up";
  return verdicts.includes("down") ? "down" : "none";
}
