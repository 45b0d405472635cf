import type { Config } from "../config/config.js";
import type { OverrideRecord } from "../health/override-records.js";
import type { OverrideStore } from "../health/overrides.js";
import type { Clock } from "../lib/clock.js";
import { formatAddress } from "../lib/listening.js";
import type { Logger } from "../lib/logger.js";
import type { WorkerPool } from "../transport/worker-pool.js";
import type { AdminListeners } from "./admin-listeners.js";
import type { ServerState } from "./state.js";

/** Milliseconds that a predecessor gets to close its admin listeners once it has left. */
const PREDECESSOR_CLOSES_MS = 2_000;

/** Milliseconds in which the reply to a successor is on its way before this process ends. */
const LEAVE_REPLY_MS = 100;

/** A server on the same port that this one takes over from. */
export interface Predecessor {
  /**
   * Makes it leave the port to the sockets of this process, which listen already.
   *
   * @param threads of this process
   * @returns the threads it had, once it has answered everything; undefined if it has gone without saying
   */
  leave(threads: number): Promise<number | undefined>;
}

/** What both sides of a takeover act on. */
export interface TakeoverParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly pool: WorkerPool;
  readonly state: ServerState;
}

/** What the successor acts on besides. */
export interface TakingOver extends TakeoverParts {
  readonly listeners: AdminListeners;
  readonly overrides: Pick<OverrideStore, "adopt">;
  /** Reads the overrides that are saved now; undefined if there are none, or the file cannot be used. */
  readonly savedOverrides?: () => Promise<readonly OverrideRecord[] | undefined>;
}

/**
 * Opens the sockets for DNS, which are a reload's business from then on; one that was taken meanwhile counts.
 *
 * @throws UserError
 */
export async function listenAsConfigured(
  { pool, state }: Pick<TakeoverParts, "pool" | "state">,
  settings: { readonly isShared?: boolean } = {},
): Promise<void> {
  let config: Config;
  do {
    config = state.config;
    await pool.listen(config.listen, { ...settings, freeBind: config.freebind });
  } while (config !== state.config);
  state.listensLater = false;
}

/** Listens beside a server that then leaves, and opens the admin listeners when that has closed its own. */
export async function takeOver(
  { pool, state, log, overrides, savedOverrides, listeners }: TakingOver,
  predecessor: Predecessor,
): Promise<void> {
  await listenAsConfigured({ pool, state }, { isShared: true });
  const predecessors = await predecessor.leave(pool.threads);
  if (state.isStopping) return;
  pool.settle(predecessors ?? pool.threads);
  // The predecessor obeyed its operators until now.
  const saved = await savedOverrides?.();
  if (saved !== undefined) await overrides.adopt(saved);
  // From here on nobody else answers: whatever is wrong with the admin listeners must not end this process.
  await listeners.openPatiently(state.config.admin, PREDECESSOR_CLOSES_MS);
  log.info({ listen: pool.addresses.map(formatAddress) }, "took the port over");
}

/** The other side: leaves the port to a successor, and says when nothing is left to do but to stop. */
export class Leaving {
  readonly #parts: TakeoverParts;
  #haveLeft: () => void = () => {};
  /** Resolves when the port has been left to a successor. */
  readonly left: Promise<void>;

  constructor(parts: TakeoverParts) {
    this.#parts = parts;
    this.left = new Promise((resolve) => {
      this.#haveLeft = resolve;
    });
  }

  /**
   * Leaves the port once every query is answered.
   *
   * @param successors threads of the successor
   * @param graceMs milliseconds until open connections are cut
   * @returns the threads there were
   */
  async leave(successors: number, graceMs: number): Promise<number> {
    const { log, pool, clock, state } = this.#parts;
    state.isStopping = true;
    log.info({ successors }, "leaving the port to a successor");
    state.hasLeft = true;
    state.hasLeft = true;
    await pool.leave(successors, graceMs);
    // Behind the reply to whoever asked.
    clock.after(LEAVE_REPLY_MS, this.#haveLeft);
    return pool.threads;
  }
}
