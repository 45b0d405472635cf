import { UserError } from "../lib/errors.js";
import { formatAddress } from "../lib/listening.js";
import { DNS_PORT } from "../wire/constants.js";

/** What the parent zone has to say of a zone. */
export interface Delegation {
  /** The zone, without the trailing dot. */
  readonly zone: string;
  /** The zone above that holds the delegation. */
  readonly parent: string;
  /** Absolute names without the trailing dot; addresses may be absent outside the zone. */
  readonly nameservers: readonly { readonly name: string; readonly addresses: readonly string[] }[];
  /** TTL of the delegation's records, seconds. */
  readonly ttl: number;
  /** The port that livezone listens on; resolvers find a delegated zone at 53 only. */
  readonly port: number;
}

/** One record of a delegation: names absolute, with the trailing dot. */
export interface DelegationRecord {
  readonly name: string;
  readonly type: "NS" | "A" | "AAAA";
  readonly ttl: number;
  readonly data: string;
}

/** NS records, and glue for the nameservers below the parent zone (RFC 1034 §4.2.1). */
export function delegationRecords({ zone, parent, nameservers, ttl }: Delegation): DelegationRecord[] {
  const ns = nameservers.map(({ name }): DelegationRecord => ({ name: `${zone}.`, type: "NS", ttl, data: `${name}.` }));
  const glue = nameservers
    .filter(({ name }) => parent === "." || name.endsWith(`.${parent}`))
    .flatMap(({ name, addresses }) =>
      addresses.map((address): DelegationRecord => {
        const type = address.includes(":") ? "AAAA" : "A";
        return { name: `${name}.`, type, ttl, data: address };
      }),
    );
  return [...ns, ...glue];
}

/** Every format: what it prints, how it does, and whether it can name a port other than 53. */
export const DELEGATION_FORMATS = {
  bind: { about: "lines for the parent's zone file, and for a BIND that resolves", print: bind, namesPort: false },
  windows: { about: "PowerShell for a Windows DNS server that holds the parent", print: windows, namesPort: false },
  unbound: { about: "a stub zone for unbound.conf", print: unbound, namesPort: true },
  dnsmasq: { about: "lines for dnsmasq.conf", print: dnsmasq, namesPort: true },
  coredns: { about: "a server block for a Corefile", print: coredns, namesPort: true },
  infoblox: { about: "the body of a WAPI request to Infoblox NIOS", print: infoblox, namesPort: false },
  route53: { about: "a change batch for the AWS command line", print: route53, namesPort: false },
} as const satisfies Record<string, { about: string; print: (delegation: Delegation) => string; namesPort: boolean }>;

export type DelegationFormat = keyof typeof DELEGATION_FORMATS;

function bind(delegation: Delegation): string {
  const { zone, parent } = delegation;
  const records = delegationRecords(delegation);
  const width = Math.max(...records.map(({ name }) => name.length));
  const lines = records.map(({ name, type, ttl, data }) => `${name.padEnd(width)} ${ttl} IN ${type.padEnd(4)} ${data}`);
  return `; Into the zone file of ${parent}; then raise its serial and reload.
${lines.join("\n")}
;
; Or, in a BIND that resolves and is to find the zone by itself, into named.conf (static-stub follows the
; zone's own nameservers; type forward with "forward only;" works too):
; zone "${zone}" { type static-stub; server-addresses { ${addressesOf(delegation).join("; ")}; }; };
`;
}

function windows(delegation: Delegation): string {
  const { zone, parent, nameservers } = delegation;
  const child = parent === "." ? zone : zone.slice(0, -parent.length - 1);
  const commands = nameservers.map(({ name, addresses }) => {
    const list = requireAddresses(name, addresses, "Windows DNS").map((address) => `"${address}"`);
    return `Add-DnsServerZoneDelegation -Name "${parent}" -ChildZoneName "${child}" -NameServer "${name}" -IPAddress ${list.join(",")}`;
  });
  return `# On a DNS server that holds ${parent}, as an administrator. No conditional forwarder: livezone offers no recursion.
${commands.join("\n")}
`;
}

/** Domains that Unbound answers by itself unless it is told not to (its manual, `local-zone`). */
const ANSWERED_BY_UNBOUND: readonly string[] = ["home.arpa", "invalid", "localhost", "onion", "test"];

function unbound(delegation: Delegation): string {
  const { zone, nameservers, port } = delegation;
  const behind = port === DNS_PORT ? "" : `@${port}`;
  const places = nameservers.flatMap(({ name, addresses }) =>
    addresses.length === 0
      ? [`  stub-host: ${name}${behind}`]
      : addresses.map((address) => `  stub-addr: ${address}${behind}`),
  );
  const own = ANSWERED_BY_UNBOUND.find((domain) => zone === domain || zone.endsWith(`.${domain}`));
  const onLoopback = nameservers.some(({ addresses }) => addresses.some((one) => /^127\.|^::1$/.test(one)));
  const exceptions = [
    ...(own === undefined ? [] : [`  local-zone: "${own}." nodefault`]),
    ...(onLoopback ? ["  do-not-query-localhost: no"] : []),
  ];
  return `# Into unbound.conf. The zone is unsigned, and its addresses may be private ones.
server:
  domain-insecure: "${zone}"
  private-domain: "${zone}"
${exceptions.map((line) => `${line}\n`).join("")}stub-zone:
  name: "${zone}"
${places.join("\n")}
`;
}

function dnsmasq(delegation: Delegation): string {
  const { zone, port } = delegation;
  const behind = port === DNS_PORT ? "" : `#${port}`;
  const servers = addressesOf(delegation).map((address) => `server=/${zone}/${address}${behind}`);
  return `# Into dnsmasq.conf. The zone's addresses may be private ones.
${servers.join("\n")}
rebind-domain-ok=/${zone}/
`;
}

function coredns(delegation: Delegation): string {
  const { zone, port } = delegation;
  const servers = addressesOf(delegation).map((address) =>
    port === DNS_PORT && !address.includes(":") ? address : formatAddress({ address, port }),
  );
  return `# Into the Corefile (in a cluster: the ConfigMap coredns in kube-system). 1 = lowest TTL kept; the default is 5.
${zone}:53 {
    errors
    cache {
        success 9984 3600 1
        denial 9984 30 1
    }
    forward . ${servers.join(" ")}
}
`;
}

function infoblox({ zone, nameservers }: Delegation): string {
  const members = nameservers.flatMap(({ name, addresses }) =>
    requireAddresses(name, addresses, "Infoblox").map((address) => ({ name, address })),
  );
  return json({ fqdn: zone, delegate_to: members, comment: "livezone: answers with the apiservers that are ready" });
}

function route53(delegation: Delegation): string {
  const sets = new Map<string, { Name: string; Type: string; TTL: number; ResourceRecords: { Value: string }[] }>();
  for (const { name, type, ttl, data } of delegationRecords(delegation)) {
    const key = `${name} ${type}`;
    const set = sets.get(key) ?? { Name: name, Type: type, TTL: ttl, ResourceRecords: [] };
    set.ResourceRecords.push({ Value: data });
    sets.set(key, set);
  }
  return json({
    Comment: `Delegates ${delegation.zone} to livezone`,
    Changes: [...sets.values()].map((set) => ({ Action: "UPSERT", ResourceRecordSet: set })),
  });
}

function json(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function addressesOf({ zone, nameservers }: Delegation): string[] {
  const addresses = nameservers.flatMap((nameserver) => nameserver.addresses);
  if (addresses.length > 0) return addresses;
  throw missingAddress(`no nameserver of ${zone} has an address in the configuration`, "NAME");
}

function requireAddresses(name: string, addresses: readonly string[], who: string): readonly string[] {
  if (addresses.length > 0) return addresses;
  throw missingAddress(
    `${who} wants an address for ${name}, and the configuration cannot hold one of another zone`,
    name,
  );
}

function missingAddress(why: string, name: string): UserError {
  return new UserError(`${why}; give it with --address ${name}=IP`, "DELEGATION_ADDRESS_MISSING");
}
