import { z } from "zod";
import type { LearnedAddress } from "../discovery/learn.js";
import { openStateFile, type StateAlarm, type StateFile } from "../health/state-file.js";
import type { Clock } from "../lib/clock.js";

/** Newest form of `discovered.json`. */
const VERSION = 1;

const learnedAddress = z.strictObject({
  address: z.string().min(1),
  id: z.string().min(1),
  name: z.string(),
  sources: z.array(z.string()).min(1),
  isProven: z.boolean(),
  /** A Date holds no more. */
  goneSinceMs: z.number().min(0).max(8.64e15).exactOptional(),
  drain: z.string().exactOptional(),
});

const content = z.array(z.strictObject({ fqdn: z.string().min(1), learned: z.array(learnedAddress) }));

/** What was discovered, by endpoint. */
export type DiscoveredState = readonly { readonly fqdn: string; readonly learned: readonly LearnedAddress[] }[];

/** What discovery has learned, for the next start. @param folder absolute; made with the first write */
export function openDiscoveredState(options: {
  readonly folder: string;
  readonly clock: Clock;
  onAlarm(alarm: StateAlarm): void;
}): StateFile<DiscoveredState> {
  // The schema's arrays are writable, which the type of the file does not promise.
  return openStateFile<DiscoveredState>({ ...options, name: "discovered.json", version: VERSION, content });
}
