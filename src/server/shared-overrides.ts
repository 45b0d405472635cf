import type { OverrideRecord, StampedRecord } from "../health/override-records.js";
import type { SharedOverride } from "../siblings/messages.js";

/** The last word on a target as siblings are told of it. @param own name of this server */
export function sharedOverride(record: StampedRecord, own: string): SharedOverride {
  const { endpoint, target, stamp, author, origin, setAtMs } = record;
  const said = {
    endpoint,
    target,
    stamp,
    setAtMs,
    ...(author === undefined ? {} : { author }),
    ...(origin === "kubernetes" ? {} : { server: origin === "operator" ? own : origin.slice("sibling:".length) }),
  };
  if (record.kind === "ended") return said;
  const { kind, reason, expiresAtMs } = record;
  return {
    ...said,
    kind,
    ...(reason === undefined ? {} : { reason }),
    ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
  };
}

/**
 * What a sibling says of a target, as this server keeps it.
 *
 * @param own name of this server
 * @param aheadMs how far the sibling's wall clock is ahead of ours: moments are by its clock
 */
export function recordOf(said: SharedOverride, own: string, aheadMs: number): StampedRecord {
  const { endpoint, target, stamp, kind, reason, author, server, expiresAtMs } = said;
  const origin: OverrideRecord["origin"] =
    server === undefined ? "kubernetes" : server === own ? "operator" : `sibling:${server}`;
  const common = {
    endpoint,
    target,
    stamp,
    origin,
    setAtMs: Math.max(0, said.setAtMs - aheadMs),
    ...(author === undefined ? {} : { author }),
  };
  if (kind === undefined) return { ...common, kind: "ended" };
  return {
    ...common,
    kind,
    ...(reason === undefined ? {} : { reason }),
    ...(expiresAtMs === undefined ? {} : { expiresAtMs: Math.max(0, expiresAtMs - aheadMs) }),
  };
}
