import type { Clock } from "../lib/clock.js";
import type { SocketAddress } from "../lib/listening.js";
import { askTwice } from "./ask-twice.js";
import type { Asker, Heard, NameserverFacts } from "./facts.js";
import { addressesIn } from "./heard.js";
import { mapLimited, pause } from "./pace.js";

/** A nameserver address to ask, and where it was named. */
export type NameserverPlace = Pick<NameserverFacts, "name" | "server" | "inParent" | "inConfig">;

/** An endpoint to ask for. */
export interface AskedEndpoint {
  readonly fqdn: string;
  /** Types of its addresses; the first is asked for. */
  readonly types: readonly ("A" | "AAAA")[];
}

/** Endpoints asked for at a time. */
const AT_ONCE = 8;

/** Milliseconds until answers that differ are asked for again: longer than siblings usually need to see one change. */
const SETTLE_MS = 1_500;

/**
 * Asks every address for the zone's SOA (UDP and TCP), its NS records and the endpoints. Answers that differ between
 * siblings are asked for a second time, so that a change under way is no disagreement.
 */
export async function collectNameservers(
  ask: Asker,
  clock: Clock,
  zone: string,
  endpoints: readonly AskedEndpoint[],
  places: readonly NameserverPlace[],
): Promise<NameserverFacts[]> {
  const facts = await Promise.all(places.map((place) => collectOne(ask, zone, endpoints, place)));
  const unsettled = endpoints.filter(({ fqdn }) => differ(facts, fqdn));
  if (unsettled.length === 0) return facts;
  await pause(clock, SETTLE_MS);
  return Promise.all(
    facts.map(async (one) => {
      if ("silence" in one.soa) return one;
      const again = await askEndpoints(ask, one.server, unsettled);
      return { ...one, endpoints: new Map([...one.endpoints, ...again]) };
    }),
  );
}

async function collectOne(
  ask: Asker,
  zone: string,
  endpoints: readonly AskedEndpoint[],
  place: NameserverPlace,
): Promise<NameserverFacts> {
  const { server } = place;
  const question = { server, name: zone, recurse: false };
  const soa = await ask({ ...question, type: "SOA" });
  // One that is silent is not waited for a second time.
  if ("silence" in soa) return { ...place, soa, ns: soa, soaOverTcp: soa, endpoints: new Map() };
  const [ns, soaOverTcp, answers] = await Promise.all([
    ask({ ...question, type: "NS" }),
    askTwice(ask, { ...question, type: "SOA", transport: "tcp" }),
    askEndpoints(ask, server, endpoints),
  ]);
  return { ...place, soa, ns, soaOverTcp, endpoints: answers };
}

async function askEndpoints(
  ask: Asker,
  server: SocketAddress,
  endpoints: readonly AskedEndpoint[],
): Promise<Map<string, Heard>> {
  const heard = await mapLimited(endpoints, AT_ONCE, ({ fqdn, types: [type] }) =>
    ask({ server, name: fqdn, type: type ?? "A", recurse: false }),
  );
  return new Map(endpoints.map(({ fqdn }, index) => [fqdn, heard[index] as Heard]));
}

function differ(facts: readonly NameserverFacts[], fqdn: string): boolean {
  const answers = facts.flatMap(({ soa, endpoints }) => {
    const heard = endpoints.get(fqdn);
    if (heard === undefined || !("reply" in soa) || !soa.reply.aa) return [];
    return [addressesIn(heard).sort().join(" ")];
  });
  return new Set(answers).size > 1;
}
