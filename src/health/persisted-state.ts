import { z } from "zod";
import type { Clock } from "../lib/clock.js";
import { MAX_STAMP_COUNT, MAX_STAMP_MS } from "../lib/hybrid-clock.js";
import { PROBE_PHASES, RESULT_CLASSES } from "./health.js";
import type { OverrideRecord } from "./override-records.js";
import { openStateFile, type StateAlarm, type StateFile } from "./state-file.js";

/** What the state folder holds. Two files, since overrides must not suffer from what happens to the other. */
export interface KeptState {
  /** Written whenever an override changes, before that is acknowledged. */
  readonly overrides: StateFile<readonly OverrideRecord[]>;
  /** Written every few seconds, and at a stop. */
  readonly last: StateFile<LastKnown>;
}

/** Newest form of `overrides.json`: version 2 names the origin of each, version 3 the moment for siblings, and what has ended. */
const OVERRIDES_VERSION = 3;

/** Newest form of `last.json`. */
const LAST_VERSION = 1;

/** Wall clock, milliseconds since 1970; a Date holds no more. */
const moment = z.number().min(0).max(8.64e15);

const overrideOfVersion1 = z.strictObject({
  endpoint: z.string().min(1),
  target: z.string().min(1),
  kind: z.enum(["drained", "forced-up", "forced-down"]),
  reason: z.string().exactOptional(),
  author: z.string().exactOptional(),
  setAtMs: moment,
  expiresAtMs: moment.exactOptional(),
});

const origin = z.union([z.enum(["operator", "kubernetes"]), z.templateLiteral(["sibling:", z.string()])]);

const overrideOfVersion2 = overrideOfVersion1.extend({ origin });

const stamp = z.strictObject({
  ms: z.number().min(0).max(MAX_STAMP_MS),
  count: z.int().min(0).max(MAX_STAMP_COUNT),
  by: z.string(),
});

const override = overrideOfVersion2.extend({ stamp: stamp.exactOptional(), isLocal: z.literal(true).exactOptional() });

const ended = z.strictObject({
  endpoint: z.string().min(1),
  target: z.string().min(1),
  kind: z.literal("ended"),
  stamp,
  setAtMs: moment,
  author: z.string().exactOptional(),
  origin,
});

/** Overrides as version 1 wrote them: all were set by operators on this server. */
const overridesOfVersion1 = z
  .array(overrideOfVersion1)
  .transform((entries) => entries.map((entry) => ({ ...entry, origin: "operator" as const })));

const result = z.strictObject({
  class: z.enum(RESULT_CLASSES),
  reason: z.string(),
  durationMs: z.number(),
  phase: z.enum(PROBE_PHASES).exactOptional(),
  certificateExpiryMs: z.number().exactOptional(),
  certificateNames: z.string().exactOptional(),
  certificateNotYetValid: z.literal(true).exactOptional(),
});

const address = z.strictObject({
  target: z.string().min(1),
  address: z.string().min(1),
  health: z.enum(["up", "down"]),
  sinceMs: moment,
  last: result.exactOptional(),
});

const lastKnown = z.strictObject({
  savedAtMs: moment,
  endpoints: z.array(
    z.strictObject({
      fqdn: z.string().min(1),
      /** Addresses whose health was known. */
      addresses: z.array(address),
      /** What was answered when enough targets were up the last time, for `whenAllDown: last-healthy`. */
      lastHealthy: z.array(z.strictObject({ target: z.string().exactOptional(), address: z.string().min(1) })),
    }),
  ),
  zones: z.array(z.strictObject({ zone: z.string().min(1), serial: z.int().min(0).max(0xffff_ffff) })),
});

/** Health and serials as they were when the file was written. */
export type LastKnown = z.output<typeof lastKnown>;

/** @param folder absolute; made with the first write */
export function openKeptState(options: {
  readonly folder: string;
  readonly clock: Clock;
  onAlarm(alarm: StateAlarm): void;
}): KeptState {
  return {
    overrides: openStateFile({
      ...options,
      name: "overrides.json",
      version: OVERRIDES_VERSION,
      content: z.array(z.union([override, ended])),
      older: { 1: overridesOfVersion1, 2: z.array(overrideOfVersion2) },
    }),
    last: openStateFile({ ...options, name: "last.json", version: LAST_VERSION, content: lastKnown }),
  };
}
