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
 * @param {{ faultAt: number, beganAt?: number, endAt?: number }} times Unix milliseconds: from when the time counts, when things
 *   began to go wrong (default: then), and when the round ended
 * @returns what one client saw: seconds from the fault to the start of its last failed or slowed request (0: there was none),
 *   whether it was not over at the end, failed, slowed (over 1 s) and wrongly sent requests, and bad ones before the fault
 */
export function clientFigures(events, total, { faultAt, beganAt = faultAt, endAt = Number.POSITIVE_INFINITY }) {
  const since = events.filter(({ at }) => at >= faultAt - UNDER_WAY_MS);
  const bad = since.filter(isBad);
  const lastAt = Math.max(faultAt, ...bad.map(({ at }) => at));
  return {
    last: Math.round((lastAt - faultAt) / 10) / 100,
    isOpen: bad.length > 0 && lastAt > endAt - STILL_MS,
    failed: bad.filter(({ error }) => error !== undefined).length,
    slowed: bad.filter(({ error }) => error === undefined).length,
    unready: since.filter(({ unready }) => unready !== undefined).length,
    errors: errorCounts(bad),
    before: events.filter((event) => event.at < beganAt - UNDER_WAY_MS && isBad(event)).length,
    total,
  };
}

/** How often each kind of error came; addresses and ports left out. */
function errorCounts(bad) {
  const counts = {};
  for (const { error } of bad) {
    if (error === undefined) continue;
    const kind = error
      .replace(/^.*\/version": /, "")
      .replace(/\d+\.\d+\.\d+\.\d+:\d+(->)?/g, "")
      .slice(0, 100);
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
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

/**
 * How soon each name server, or the load balancer, left the victim out: seconds from the fault, for those that did.
 *
 * @param {{ at: number, server: string, addresses: string[] }[]} changes of each one's view, oldest first
 */
export function withdrawalTimes(changes, faultAt, victim) {
  const first = new Map();
  for (const { at, server, addresses } of changes) {
    if (at >= faultAt && !addresses.includes(victim) && !first.has(server)) first.set(server, at);
  }
  return [...first.values()].map((at) => Math.round((at - faultAt) / 10) / 100);
}
