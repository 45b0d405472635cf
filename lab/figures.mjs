/** From what clients and watchers told to the figures of one round. Pure. */

/** Requests that began this long before a fault may have been under way when it came; milliseconds. */
const UNDER_WAY_MS = 200;

/** A client whose last bad request began within so long of the end was in trouble still. */
const STILL_MS = 3_000;

/** A round is over when nothing bad was told of for so long; longer than any client's timeout, and the TTL. */
export const QUIET_MS = 7_000;
/** ... and at last so long after the fault. What is bad still then is not mended in this time. */
export const GIVE_UP_MS = 45_000;

const isBad = ({ error, took }) => error !== undefined || took > 1_000;

/**
 * @param {{ at: number, took: number, error?: string, unready?: string }[]} events
 * @param {number} faultAt Unix milliseconds
 * @param {number} endAt when the round ended
 * @returns what one client saw: seconds from the fault to the start of its last failed or slowed request (0: there was none),
 *   whether it was not over at the end, failed, slowed (over 1 s) and wrongly sent requests, and bad ones before the fault
 */
export function clientFigures(events, total, faultAt, endAt = Number.POSITIVE_INFINITY) {
  const since = events.filter(({ at }) => at >= faultAt - UNDER_WAY_MS);
  const bad = since.filter(isBad);
  const lastAt = Math.max(faultAt, ...bad.map(({ at }) => at));
  return {
    last: Math.round((lastAt - faultAt) / 10) / 100,
    isOpen: bad.length > 0 && lastAt > endAt - STILL_MS,
    failed: bad.filter(({ error }) => error !== undefined).length,
    slowed: bad.filter(({ error }) => error === undefined).length,
    unready: since.filter(({ unready }) => unready !== undefined).length,
    before: events.filter((event) => event.at < faultAt - UNDER_WAY_MS && isBad(event)).length,
    total,
  };
}

/**
 * How often an address vanished from a watcher's view though its target served.
 *
 * @param {{ at: number, server: string, addresses: string[] }[]} changes of each server's view, oldest first
 * @param {{ from: number, to: number, all: string[], mayMiss: "none" | "victim" | "one" | "all", victim: string }} round addresses, and
 *   the time that counts, Unix milliseconds
 */
export function falseWithdrawals(changes, { from, to, all, mayMiss, victim }) {
  if (mayMiss === "all") return 0;
  const wrong = ({ addresses }) => {
    const missing = all.filter((address) => !addresses.includes(address));
    if (mayMiss === "one") return missing.length > 1 ? missing.slice(1) : [];
    return mayMiss === "victim" ? missing.filter((address) => address !== victim) : missing;
  };
  const views = new Map();
  let count = 0;
  for (const change of changes) {
    const missing = wrong(change);
    const before = views.get(change.server) ?? [];
    views.set(change.server, missing);
    if (change.at >= from && change.at <= to) count += missing.filter((address) => !before.includes(address)).length;
  }
  return count;
}
