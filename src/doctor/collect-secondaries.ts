import type { Clock } from "../lib/clock.js";
import type { SocketAddress } from "../lib/listening.js";
import { isSerialNewer } from "../zone/serial.js";
import type { Asker, Heard, SecondaryFacts } from "./facts.js";
import { mapLimited, pause } from "./pace.js";

/** Secondaries asked at a time. */
const AT_ONCE = 8;

/** Milliseconds until those that are behind are asked again: longer than a secondary takes for one change. */
const SETTLE_MS = 2_500;

/**
 * Asks every secondary for the zone's SOA, and one that is behind a second time: a change under way is no fault.
 *
 * @param primaries where livezone may answer for itself
 * @param known serials that others gave
 */
export async function collectSecondaries(
  ask: Asker,
  clock: Clock,
  zone: string,
  secondaries: readonly SocketAddress[],
  primaries: readonly SocketAddress[],
  known: readonly number[],
): Promise<SecondaryFacts> {
  if (secondaries.length === 0) return { secondaries: [] };
  const soaOf = (server: SocketAddress): Promise<Heard> => ask({ server, name: zone, type: "SOA", recurse: false });
  const [own, heard] = await Promise.all([
    Promise.all(primaries.map(soaOf)),
    mapLimited(secondaries, AT_ONCE, async (server) => ({ server, soa: await soaOf(server) })),
  ]);
  const serial = latest([...known, ...[...own, ...heard.map(({ soa }) => soa)].flatMap((one) => serialIn(one) ?? [])]);
  const isBehind = ({ soa }: { readonly soa: Heard }): boolean => {
    const theirs = serialIn(soa);
    return serial !== undefined && theirs !== undefined && isSerialNewer(serial, theirs);
  };
  if (heard.some(isBehind)) await pause(clock, SETTLE_MS);
  const settled = await mapLimited(heard, AT_ONCE, async (one) =>
    isBehind(one) ? { ...one, soa: await soaOf(one.server) } : one,
  );
  return { secondaries: settled, ...(serial === undefined ? {} : { serial }) };
}

/** The serial of an authoritative answer. */
export function serialIn(heard: Heard): number | undefined {
  if (!("reply" in heard) || heard.reply.rcode !== "NOERROR" || !heard.reply.aa) return undefined;
  const serial = Number(heard.reply.answers.find(({ type }) => type === "SOA")?.data.split(" ")[2]);
  return Number.isInteger(serial) ? serial : undefined;
}

function latest(serials: readonly number[]): number | undefined {
  return serials.reduce<number | undefined>(
    (last, one) => (last === undefined || isSerialNewer(one, last) ? one : last),
    undefined,
  );
}
