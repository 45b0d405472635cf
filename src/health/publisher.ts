import type { Clock } from "../lib/clock.js";
import type { Transition } from "./health.js";
import type { MonitoredAddress, ProbeJob, Unpublished } from "./monitored-address.js";
import { TAKE_BACK_MS } from "./narrowing.js";
import { NarrowingGuard } from "./narrowing-guard.js";
import type { Registry } from "./registry.js";
import { broughtDown } from "./state.js";

export interface PublisherOptions {
  readonly clock: Clock;
  readonly registry: Registry<MonitoredAddress>;
  /** Probes now, unless a probe is under way. */
  ask(job: ProbeJob): void;
  /** Brings the view of an address up to date. */
  update(address: MonitoredAddress): void;
  /** Changes of this endpoint were held back, and may be due: publish again. */
  onDue(fqdn: string): void;
}

/** Decides when readers see that health has changed. */
export class Publisher {
  readonly #clock: Clock;
  readonly #registry: Registry<MonitoredAddress>;
  readonly #update: (address: MonitoredAddress) => void;
  readonly #guard: NarrowingGuard;

  constructor({ clock, registry, ask, update, onDue }: PublisherOptions) {
    this.#clock = clock;
    this.#registry = registry;
    this.#update = update;
    this.#guard = new NarrowingGuard({
      clock,
      targetsOf: (fqdn) => registry.targets(fqdn),
      ask: ({ job }) => job && ask(job),
      onDue,
    });
  }

  /** Takes note of a change, which {@link publish} shows. */
  noteChange(address: MonitoredAddress, unpublished: Unpublished): void {
    // Back to what readers see: for them nothing has happened.
    if (address.view.health === unpublished.change.to) delete address.unpublished;
    else address.unpublished = unpublished;
    if (unpublished.change.from !== "unknown") this.#guard.watch(address.view.fqdn);
  }

  /** Takes note of a first failure that others may share. */
  noteDoubt({ view }: MonitoredAddress): void {
    this.#guard.ask(view.fqdn);
  }

  /** Shows readers what has changed in these endpoints, as far as the guard allows. */
  publish(fqdns: Iterable<string>, isIsolated: boolean): readonly Transition[] {
    return [...fqdns].flatMap((fqdn) => {
      // First health is shown at once: there was none before that could be narrowed.
      const first = this.#publishAll(fqdn, ({ view }) => view.health === "unknown");
      const decision = this.#guard.review(fqdn, isIsolated);
      if (decision === "hold") return first;
      if (decision === "reunite") return [...first, ...this.#takeBack(fqdn)];
      if (decision === "all-down") this.#bringDown(fqdn);
      return [...first, ...this.#publishAll(fqdn, () => true)];
    });
  }

  #publishAll(fqdn: string, isMeant: (address: MonitoredAddress) => boolean): readonly Transition[] {
    const nowMs = this.#clock.monotonicMs();
    return this.#registry.targets(fqdn).flatMap(({ addresses }) =>
      addresses.flatMap((address) => {
        const { view, unpublished } = address;
        if (unpublished === undefined || !isMeant(address)) return [];
        const { change, result, changedMs } = unpublished;
        const { target, address: literal, health: from } = view;
        delete address.unpublished;
        if (change.to === "down" && result.class === "not-ready") address.leftMs = nowMs;
        this.#update(address);
        const afterMs = change.afterMs + nowMs - changedMs;
        return [{ fqdn, target, address: literal, from, to: change.to, afterMs, result }];
      }),
    );
  }

  /** Lets readers see those up again that were withdrawn of late for not being ready, as long as changes are held back. */
  #takeBack(fqdn: string): readonly Transition[] {
    const nowMs = this.#clock.monotonicMs();
    return this.#registry.targets(fqdn).flatMap(({ addresses }) =>
      addresses.flatMap((address) => {
        const { view, state, leftMs = Number.NEGATIVE_INFINITY } = address;
        const { last, target, address: literal } = view;
        if (nowMs - leftMs > TAKE_BACK_MS || view.health !== "down" || state.health !== "down" || last === undefined) {
          return [];
        }
        const afterMs = nowMs - leftMs;
        address.unpublished = { change: { from: "up", to: "down", afterMs }, result: last, changedMs: nowMs };
        view.health = "up";
        this.#update(address);
        const result = { ...last, reason: `${last.reason}; others fail as well`.slice(0, 200) };
        return [{ fqdn, target, address: literal, from: "down" as const, to: "up" as const, afterMs, result }];
      }),
    );
  }

  /** Brings down those that would remain, and fail as the others do. */
  #bringDown(fqdn: string): void {
    const nowMs = this.#clock.monotonicMs();
    for (const { addresses, override } of this.#registry.targets(fqdn)) {
      if (override !== undefined) continue;
      for (const address of addresses) {
        const { state, view, newest } = address;
        if (state.health !== "up" || view.last === undefined || newest === undefined) continue;
        const afterMs = state.against === 0 ? 0 : nowMs - state.againstSinceMs;
        address.state = broughtDown(state, nowMs, address.config);
        if (view.health === "down") delete address.unpublished;
        else address.unpublished = { change: { from: "up", to: "down", afterMs }, result: view.last, changedMs: nowMs };
      }
    }
  }

  /** Forgets an endpoint. */
  drop(fqdn: string): void {
    this.#guard.drop(fqdn);
  }

  stop(): void {
    this.#guard.stop();
  }
}
