/*
 * What happens to the apiservers and networks of one history, as data: conditions with a beginning and an end. Prober
 * and measures both read them, so that what is measured is what was probed.
 */

/**
 * What one target, or the way to it, is like for some time.
 *
 * - `gone`: nothing listens. Connections that were open are reset at its beginning.
 * - `stopped`: connections are accepted by the kernel and nothing answers; what was begun goes on at the end.
 * - `black-hole`: packets are lost.
 * - `answers`: the response is of this class, after `tookMs`.
 * - `loss`: a packet is lost with this probability.
 */
export type Trouble =
  | { readonly kind: "gone" | "stopped" | "black-hole" | "no-route" | "untrusted" }
  | {
      readonly kind: "answers";
      readonly class: "ok" | "not-ready" | "auth-required" | "overloaded";
      readonly tookMs: number;
    }
  | { readonly kind: "loss"; readonly share: number };

/** Moments are milliseconds of the history; the end is not included. */
export type Condition = Trouble & { readonly fromMs: number; readonly toMs: number };

/** All that happens in one history. */
export interface World {
  readonly targets: readonly (readonly Condition[])[];
  /** The network of each livezone server, to all targets. */
  readonly servers: readonly (readonly Condition[])[];
  readonly endMs: number;
}

/** The first condition of a kind that holds at a moment. */
export function holding<Kind extends Trouble["kind"]>(
  conditions: readonly Condition[],
  kind: Kind,
  atMs: number,
): (Condition & { readonly kind: Kind }) | undefined {
  return conditions.find(
    (condition): condition is Condition & { readonly kind: Kind } =>
      condition.kind === kind && condition.fromMs <= atMs && atMs < condition.toMs,
  );
}

/** How good a target is for clients: no client gets through; it runs but is not ready; it serves. */
export const QUALITY = { dead: 0, unready: 1, healthy: 2 } as const;

export type Quality = (typeof QUALITY)[keyof typeof QUALITY];

/** A server that is only overloaded counts as healthy: without it the others would carry its load. */
export function qualityAt(conditions: readonly Condition[], atMs: number): Quality {
  let quality: Quality = QUALITY.healthy;
  for (const condition of conditions) {
    if (atMs < condition.fromMs || atMs >= condition.toMs) continue;
    const { kind } = condition;
    if (kind === "gone" || kind === "stopped" || kind === "black-hole" || kind === "no-route") return QUALITY.dead;
    const isUnready = kind === "answers" && (condition.class === "not-ready" || condition.class === "auth-required");
    if (isUnready || kind === "untrusted") quality = QUALITY.unready;
  }
  return quality;
}
