import type { OverriddenEndpoint } from "../health/override-refusals.js";
import type { Clock } from "../lib/clock.js";

/** Time for which a place is kept, milliseconds: longer than a server waits for its siblings' replies. */
const KEPT_MS = 4_000;

interface TargetName {
  readonly endpoint: string;
  readonly target: string;
}

/**
 * Targets that this server or a sibling is about to take out. Until it is done, nobody else may take out the last one beside
 * them: two drains at the same moment, given to two servers, would otherwise both find the other target in place.
 */
export class Reservations {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** Monotonic end of each, by endpoint and target. */
  readonly #until = new Map<string, Map<string, number>>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  keep({ endpoint, target }: TargetName): void {
    const targets = this.#until.get(endpoint) ?? new Map<string, number>();
    targets.set(target, this.#clock.monotonicMs() + KEPT_MS);
    this.#until.set(endpoint, targets);
  }

  release({ endpoint, target }: TargetName): void {
    const targets = this.#until.get(endpoint);
    targets?.delete(target);
    if (targets?.size === 0) this.#until.delete(endpoint);
  }

  /** The endpoint as it is once everything that is about to happen has happened, but for one target. */
  applied(looked: OverriddenEndpoint, target: string): OverriddenEndpoint {
    const until = this.#until.get(looked.health.fqdn);
    if (until === undefined) return looked;
    const nowMs = this.#clock.monotonicMs();
    const isTaken = (id: string): boolean => id !== target && (until.get(id) ?? 0) > nowMs;
    const targets = looked.health.targets.map((one) =>
      isTaken(one.id) ? { ...one, override: { kind: "drained", origin: "operator", setAtMs: 0 } as const } : one,
    );
    return { ...looked, health: { ...looked.health, targets } };
  }
}
