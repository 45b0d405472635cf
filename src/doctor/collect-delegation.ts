import type { SocketAddress } from "../lib/listening.js";
import type { Asker, DelegationFacts } from "./facts.js";
import { addressesIn } from "./heard.js";

/** Asks the servers of the parent zone for the zone's NS records, without recursion, as a resolver does. */
export async function collectDelegation(
  ask: Asker,
  zone: string,
  parents: readonly SocketAddress[],
): Promise<DelegationFacts> {
  const asked = parents.map(async (server) => ({
    server,
    heard: await ask({ server, name: zone, type: "NS", recurse: false }),
  }));
  return { parents: await Promise.all(asked) };
}

/** Most servers of a parent zone that are asked: `com` has 13, and the first few tell what the others would. */
const MAX_PARENTS = 4;

/**
 * Finds the servers of the zone above through a resolver: of the nearest ancestor that is a zone.
 *
 * @param port where they listen: 53, except in tests
 * @returns their addresses, or why none was found
 */
export async function findParents(
  ask: Asker,
  zone: string,
  resolver: SocketAddress,
  port: number,
): Promise<{ readonly servers: readonly SocketAddress[]; readonly problem: string }> {
  const nothing = (problem: string) => ({ servers: [], problem });
  for (let name = parentOf(zone); ; name = parentOf(name)) {
    const soa = await ask({ server: resolver, name, type: "SOA", recurse: true });
    if ("silence" in soa) return nothing(`The parent zone was looked for in vain: ${soa.silence}.`);
    const isZone = soa.reply.answers.some((record) => record.type === "SOA" && record.name === name);
    if (!isZone) {
      if (name === ".") return nothing(`The parent zone was looked for in vain: the resolver says ${soa.reply.rcode}.`);
      continue;
    }
    const ns = await ask({ server: resolver, name, type: "NS", recurse: true });
    const names =
      "reply" in ns
        ? ns.reply.answers.filter(({ type }) => type === "NS").map(({ data }) => data.replace(/\.$/, ""))
        : [];
    const found = await Promise.all(names.slice(0, MAX_PARENTS).map((server) => lookUp(ask, server, resolver)));
    const servers = found.flat().map((address) => ({ address, port }));
    if (servers.length === 0) return nothing(`The zone ${name} has no nameserver whose address could be found.`);
    return { servers: servers.slice(0, MAX_PARENTS), problem: "" };
  }
}

/** Both families' addresses of a name, by a resolver. */
export async function lookUp(ask: Asker, name: string, resolver: SocketAddress): Promise<string[]> {
  const types = ["A", "AAAA"];
  const heard = await Promise.all(types.map((type) => ask({ server: resolver, name, type, recurse: true })));
  return heard.flatMap(addressesIn);
}

function parentOf(name: string): string {
  const dot = name.indexOf(".");
  return dot < 0 || name === "." ? "." : name.slice(dot + 1);
}
