import type { CompiledZone, ZoneUpdate } from "../answers/answer.js";
import { AnswerTable } from "../answers/table.js";
import { formatAddress, type Listening, type SocketAddress } from "../lib/listening.js";
import { createQueryCounters, type QueryTotals, sumCounters } from "../query/counters.js";
import { createResponder, type Respond, type ResponderState } from "../query/respond.js";
import { openTcp } from "./tcp.js";
import { openUdp } from "./udp.js";

/**
 * Everything that answers queries, seen from the side that decides the answers: sockets and tables, in whatever
 * threads they are.
 */
export interface Answering {
  /**
   * Listens on these addresses, UDP and TCP on each, from now on: opens what is new, then closes what is no longer
   * named. Rejects with a UserError, nothing changed, if one cannot be opened.
   */
  listen(addresses: readonly SocketAddress[]): Promise<void>;
  /** Where it listens; the real ports. */
  readonly addresses: readonly SocketAddress[];
  /** Replaces all answers at once. */
  load(zones: readonly CompiledZone[]): void;
  /** Replaces the answers that changed. */
  update(update: ZoneUpdate): void;
  /** Ends the silence that a start begins with. */
  setReady(): void;
  /** What has been counted so far. */
  totals(): QueryTotals;
  /** Answers what is under way and closes everything. @param graceMs until open connections are cut */
  stop(graceMs: number): Promise<void>;
}

/** UDP and TCP of one address. */
type Pair = readonly [Listening, Listening];

/** Answers in this thread. */
export function createAnswering(): Answering {
  const counters = createQueryCounters();
  const state: ResponderState = { table: new AnswerTable(), ready: false };
  const respond = createResponder(state, counters);
  let open: ReadonlyMap<string, Pair> = new Map();

  return {
    async listen(addresses) {
      const next = await openMissing(addresses, open, respond);
      const closing = [...open].filter(([key]) => !next.has(key)).map(([, pair]) => pair);
      open = next;
      await closeAll(closing, 0);
    },
    get addresses() {
      return [...open.values()].map(([udp]) => udp.address);
    },
    load(zones) {
      const table = new AnswerTable();
      for (const zone of zones) table.addZone(zone);
      state.table = table;
    },
    update: (update) => state.table.update(update),
    setReady() {
      state.ready = true;
    },
    totals: () => sumCounters([counters.memory]),
    stop: (graceMs) => closeAll([...open.values()], graceMs),
  };
}

/** Opens what `addresses` name and `open` lacks; all or none. */
async function openMissing(
  addresses: readonly SocketAddress[],
  open: ReadonlyMap<string, Pair>,
  respond: Respond,
): Promise<Map<string, Pair>> {
  const next = new Map<string, Pair>();
  const fresh: Pair[] = [];
  try {
    for (const address of addresses) {
      const key = formatAddress(address);
      let pair = open.get(key);
      if (pair === undefined) {
        pair = await openPair(address, respond);
        fresh.push(pair);
      }
      next.set(key, pair);
    }
    return next;
  } catch (error) {
    await closeAll(fresh, 0);
    throw error;
  }
}

async function openPair(address: SocketAddress, respond: Respond): Promise<Pair> {
  const udp = await openUdp(address, respond);
  try {
    return [udp, await openTcp(udp.address, respond)];
  } catch (error) {
    await udp.stop(0);
    throw error;
  }
}

async function closeAll(pairs: readonly Pair[], graceMs: number): Promise<void> {
  await Promise.all(pairs.flat().map((listening) => listening.stop(graceMs)));
}
