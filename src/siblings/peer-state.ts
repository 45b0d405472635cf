import type { Beat, SiblingEndpoint, SiblingZone, Verdict } from "./messages.js";

/*
 * What is known of one sibling, and whether it counts. A sibling is fresh if it was heard within the last two seconds and is
 * neither isolated, nor late, nor starting. Only what fresh siblings say is listened to.
 */

/** Time without a word after which a sibling is not fresh any more, milliseconds: three of its words may be lost. */
export const FRESH_MS = 2_000;

/**
 * By how much two clocks may drift apart, part: quartz is good for a tenth of it. What a word is late beyond that was held up
 * on its way.
 */
const DRIFT = 0.001;

/** Why a sibling does not count, or that it does. */
export type PeerCondition =
  | "fresh"
  /** It was never heard since this process started. */
  | "unheard"
  /** Its connection ended. */
  | "disconnected"
  /** It says nothing, or what it says is old when it arrives. */
  | "silent"
  /** It says of itself that it is cut off from its targets, late, or starting. */
  | "isolated"
  | "late"
  | "starting"
  /** Its address leads to this very server. */
  | "oneself";

/** What a sibling has said on its present connection. */
export interface Heard {
  /** Of its process. */
  readonly boot: string;
  beat?: Beat;
  /** Monotonic moment of the newest beat. */
  heardMs: number;
  /** Smallest difference between our monotonic clock and its, milliseconds: that of the quickest word. */
  leastOffsetMs: number;
  /** By how much the newest beat was later than the quickest one, milliseconds. */
  delayMs: number;
  /** Its wall clock minus ours, milliseconds. */
  clockDifferenceMs: number;
  zones: readonly SiblingZone[];
  /** By fqdn; those that are served here. */
  readonly endpoints: Map<string, SiblingEndpoint>;
}

/** @param nowMs monotonic */
export function newHeard(boot: string, nowMs: number): Heard {
  return {
    boot,
    heardMs: nowMs,
    leastOffsetMs: Number.POSITIVE_INFINITY,
    delayMs: 0,
    clockDifferenceMs: 0,
    zones: [],
    endpoints: new Map(),
  };
}

/** Takes note of a beat. */
export function noteBeat(
  heard: Heard,
  beat: Beat,
  now: { readonly monotonicMs: number; readonly wallMs: number },
): void {
  const offsetMs = now.monotonicMs - beat.monotonicMs;
  // Let the least difference grow with the clocks' drift, or it would be that of long ago.
  const leastMs = heard.leastOffsetMs + (now.monotonicMs - heard.heardMs) * DRIFT;
  heard.leastOffsetMs = Math.min(offsetMs, leastMs);
  heard.delayMs = offsetMs - heard.leastOffsetMs;
  heard.clockDifferenceMs = beat.wallMs - now.wallMs;
  heard.heardMs = now.monotonicMs;
  heard.beat = beat;
}

/** Whether what a sibling says counts now. @param heard absent while it is not connected */
export function conditionOf(heard: Heard | undefined, wasHeard: boolean, nowMs: number): PeerCondition {
  if (heard?.beat === undefined) return wasHeard ? "disconnected" : "unheard";
  if (nowMs - heard.heardMs > FRESH_MS || heard.delayMs > FRESH_MS) return "silent";
  if (heard.beat.starting) return "starting";
  if (heard.beat.late) return "late";
  return heard.beat.isolated ? "isolated" : "fresh";
}

/** What a sibling sees of an address; undefined if it does not know it. */
export function verdictOf(endpoint: SiblingEndpoint | undefined, address: string): Verdict | undefined {
  if (endpoint === undefined) return undefined;
  if (endpoint.up.includes(address)) return "up";
  return endpoint.not.find(([other]) => other === address)?.[1];
}

/** Addresses of which a sibling says something else than before: reason to look. Nothing at its first word on the endpoint. */
export function changedAddresses(before: SiblingEndpoint | undefined, after: SiblingEndpoint): string[] {
  if (before === undefined) return [];
  const now: readonly (readonly [string, Verdict])[] = [...after.up.map((one) => [one, "up"] as const), ...after.not];
  return now.filter(([address, verdict]) => verdictOf(before, address) !== verdict).map(([address]) => address);
}
