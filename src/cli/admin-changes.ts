import { setTimeout as pause } from "node:timers/promises";
import type { AdminClient } from "../client/admin.js";

/** Milliseconds before a server that ended its stream of events is asked again. */
const LOOK_AGAIN_MS = 1_000;

/** Milliseconds that a burst of events gets to become one picture. */
const SETTLE_MS = 100;

/** How long {@link nextChange} waits. */
export interface ChangeLimits {
  /** Ends the wait at once. */
  readonly ended: AbortSignal;
  /** Milliseconds after which it returns without a change; absent = never. */
  readonly atMostMs?: number;
}

/**
 * Resolves at the next event of a server, or when a limit is reached, or a second after the server ended the stream. What
 * is wrong with the server is told by whoever asks it next.
 *
 * @param since id of the newest event that is known
 */
export async function nextChange(client: AdminClient, since: string, { ended, atMostMs }: ChangeLimits): Promise<void> {
  const signal = atMostMs === undefined ? ended : AbortSignal.any([ended, AbortSignal.timeout(atMostMs)]);
  try {
    for await (const _ of client.events(signal, since)) {
      await pause(SETTLE_MS, undefined, { signal: ended });
      return;
    }
  } catch {
    // The look at the status that follows tells it.
  }
  if (signal.aborted) return;
  await pause(LOOK_AGAIN_MS, undefined, { signal: ended }).catch(() => {});
}
