import type { Clock } from "../lib/clock.js";
import type { SocketAddress } from "../lib/listening.js";
import { askTwice } from "./ask-twice.js";
import type { AskedEndpoint } from "./collect-nameservers.js";
import type { Asker, Heard, ResolvedFacts, ResolverFacts } from "./facts.js";
import { addressesIn, rcodeOf } from "./heard.js";
import { mapLimited, pause } from "./pace.js";

/** An endpoint to resolve. */
export interface ResolvedEndpoint extends AskedEndpoint {
  /** Seconds. */
  readonly ttl: number;
  /** `<target>.<endpoint>` names with the addresses of each. */
  readonly targets: readonly { readonly name: string; readonly addresses: readonly string[] }[];
}

/** A resolver to ask. */
export interface ResolverPlace {
  readonly server: SocketAddress;
  /** `--resolver`, or the file that names it. */
  readonly source: string;
  /** This machine's clients use it. */
  readonly isOwn: boolean;
}

/** Longest TTL, seconds, whose end is waited for. */
export const MAX_WATCHED_TTL = 15;

/** Milliseconds past the end of a TTL at which caches that count whole seconds have dropped the answer too. */
const PAST_EXPIRY_MS = 1_100;

/** Milliseconds in which a resolver that handed out a stale answer has fetched a fresh one. */
const REFRESH_MS = 300;

/** Endpoints resolved at a time. */
const AT_ONCE = 8;

/** Asks a resolver for the endpoints, waits until the answers must have run out, and asks again. */
export async function collectResolver(
  ask: Asker,
  clock: Clock,
  resolver: ResolverPlace,
  zone: string,
  endpoints: readonly ResolvedEndpoint[],
  randomLabel: () => string,
): Promise<ResolverFacts> {
  const { server } = resolver;
  const resolve: Resolve = (name, type, checkingDisabled = false) =>
    ask({ server, name, type, recurse: true, checkingDisabled });
  const absent = `${randomLabel()}.${zone}`;

  const askFirst = (endpoint: ResolvedEndpoint) => firstOf(endpoint, resolve);
  // One that is silent is waited for once, not for every endpoint.
  const [head, ...rest] = endpoints;
  const headFirst = head === undefined ? undefined : await askFirst(head);
  if (head === undefined || headFirst === undefined || !headFirst.first.some((heard) => "reply" in heard)) {
    const unheard = new Map(
      head === undefined ? [] : [[head.fqdn, { first: headFirst?.first ?? [], otherFamily: [] }]],
    );
    return { ...resolver, endpoints: unheard, overTcp: NOT_ASKED, negatives: [] };
  }
  const before = [headFirst, ...(await mapLimited(rest, AT_ONCE, askFirst))];
  const isUnresolved = before.some(({ first }) => first.every((heard) => addressesIn(heard).length === 0));
  const [soa, negatives, overTcp, others] = await Promise.all([
    isUnresolved ? resolve(zone, "SOA") : undefined,
    twice(() => resolve(absent, "A")),
    askTwice(ask, { server, name: head.fqdn, type: "A", recurse: true, transport: "tcp" }),
    mapLimited([...endpoints.keys()], AT_ONCE, (index) => {
      const { fqdn, types } = endpoints[index] as ResolvedEndpoint;
      const others = types.filter((type) => type !== before[index]?.type);
      return Promise.all(others.map((type) => resolve(fqdn, type)));
    }),
  ]);

  const isWatched = endpoints.map(
    ({ ttl }, index) =>
      ttl <= MAX_WATCHED_TTL && (before[index]?.first ?? []).some((heard) => addressesIn(heard).length > 0),
  );
  const longest = Math.max(0, ...endpoints.filter((_endpoint, index) => isWatched[index]).map(({ ttl }) => ttl));
  if (longest > 0) await pause(clock, longest * 1000 + PAST_EXPIRY_MS);
  const resolved = await mapLimited([...endpoints.keys()], AT_ONCE, async (index): Promise<ResolvedFacts> => {
    const endpoint = endpoints[index] as ResolvedEndpoint;
    const { first = [], type = "A", unvalidated } = before[index] ?? {};
    const facts = { first, otherFamily: others[index] ?? [], ...(unvalidated === undefined ? {} : { unvalidated }) };
    if (isWatched[index] !== true) return facts;
    const stale = await resolve(endpoint.fqdn, type);
    await pause(clock, REFRESH_MS);
    const later = [stale, await resolve(endpoint.fqdn, type)];
    const answered = new Set(addressesIn(stale));
    const target = endpoint.targets.find(({ addresses }) => addresses.some((address) => answered.has(address)));
    if (target === undefined) return { ...facts, later };
    return { ...facts, later, uncached: await resolve(target.name, type) };
  });
  const endpointFacts = byName(endpoints, resolved);
  return { ...resolver, endpoints: endpointFacts, overTcp, negatives, ...(soa === undefined ? {} : { soa }) };
}

const NOT_ASKED: Heard = { silence: "not asked" };

/** Asks the resolver; never rejects. */
type Resolve = (name: string, type: string, checkingDisabled?: boolean) => Promise<Heard>;

/** The first type that has addresses, asked twice; the last one if none has, after SERVFAIL without validation too. */
async function firstOf(
  { fqdn, types }: ResolvedEndpoint,
  resolve: Resolve,
): Promise<{ type: "A" | "AAAA"; first: Heard[]; unvalidated?: Heard }> {
  for (const type of types) {
    const first = await twice(() => resolve(fqdn, type));
    if (first.some((heard) => addressesIn(heard).length > 0)) return { type, first };
    if (type !== types.at(-1)) continue;
    const isFailing = first.some((heard) => rcodeOf(heard) === "SERVFAIL");
    return { type, first, ...(isFailing ? { unvalidated: await resolve(fqdn, type, true) } : {}) };
  }
  return { type: "A", first: [] };
}

async function twice(task: () => Promise<Heard>): Promise<Heard[]> {
  const one = await task();
  return "silence" in one ? [one] : [one, await task()];
}

function byName<T>(endpoints: readonly ResolvedEndpoint[], facts: readonly T[]): Map<string, T> {
  return new Map(endpoints.map(({ fqdn }, index) => [fqdn, facts[index] as T]));
}
