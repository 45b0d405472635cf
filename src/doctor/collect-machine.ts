import { isIP } from "node:net";
import { parseAddress } from "../config/address.js";
import { readText } from "./collect-files.js";
import type { HostsLine, Lookup, MachineFacts, ResolvConfFacts } from "./facts.js";

/** Most nameservers of a resolv.conf that clients use: MAXNS of glibc and musl; Go keeps to it as well. */
const MAX_NAMESERVERS = 3;

/** Resolves a name as this machine's programs do; never rejects. */
export type LookUpAsMachine = (name: string) => Promise<Lookup>;

/** Reads a resolv.conf. One that is absent is like an empty one, as it is for clients (resolv.conf(5)). */
export function readResolvConf(file: string): ResolvConfFacts {
  const named = [...textOrNothing(file).matchAll(/^\s*nameserver\s+(\S+)/gm)].flatMap(([, address = ""]) => {
    const parsed = parseAddress(address);
    if ("value" in parsed) return [parsed.value];
    // A link-local address with its interface (RFC 4007 §11).
    return address.includes("%") && isIP(address) === 6 ? [address] : [];
  });
  return { file, nameservers: named.slice(0, MAX_NAMESERVERS), surplus: named.slice(MAX_NAMESERVERS) };
}

/** The lines of a hosts file that give a name an address. */
export function hostsLines(text: string, name: string): HostsLine[] {
  return text.split("\n").flatMap((whole, index) => {
    const [address = "", ...names] = whole.replace(/#.*/, "").trim().split(/\s+/);
    const isNamed = names.some((one) => one.toLowerCase().replace(/\.$/, "") === name);
    return isNamed && isIP(address) !== 0 ? [{ line: index + 1, text: whole.trim(), address }] : [];
  });
}

/** What this machine makes of each endpoint's name: the lines of its hosts file, and `getaddrinfo` if that is given. */
export async function collectMachine(
  resolvConf: ResolvConfFacts,
  hostsFile: string,
  endpoints: readonly string[],
  lookUp: LookUpAsMachine | undefined,
): Promise<MachineFacts> {
  const hosts = textOrNothing(hostsFile);
  const looked = endpoints.map(async (fqdn) => {
    const lines = hostsLines(hosts, fqdn);
    const lookup = await lookUp?.(fqdn);
    return [fqdn, { hosts: lines, ...(lookup === undefined ? {} : { lookup }) }] as const;
  });
  return { resolvConf, hostsFile, endpoints: new Map(await Promise.all(looked)) };
}

function textOrNothing(file: string): string {
  try {
    return readText(file);
  } catch {
    return "";
  }
}
