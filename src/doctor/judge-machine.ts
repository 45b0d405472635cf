import type { MachineFacts, MachineLookup, ResolvConfFacts } from "./facts.js";
import { type Finding, list } from "./finding.js";

/** What is known of an endpoint otherwise. */
export interface KnownEndpoint {
  /** All addresses that may be answered. */
  readonly addresses: ReadonlySet<string>;
  /** Addresses that this machine's resolvers give. */
  readonly resolved: ReadonlySet<string>;
}

/** Judges how this machine resolves the endpoints, beside its resolvers. */
export function judgeMachine(
  { hostsFile, endpoints }: Pick<MachineFacts, "hostsFile" | "endpoints">,
  known: ReadonlyMap<string, KnownEndpoint>,
): Finding[] {
  return [...endpoints].flatMap(([fqdn, looked]): Finding[] => {
    const endpoint = known.get(fqdn) ?? { addresses: new Set<string>(), resolved: new Set<string>() };
    if (looked.hosts.length > 0) return [pinned(hostsFile, fqdn, looked, endpoint)];
    return judgeLookup(fqdn, looked, endpoint);
  });
}

function pinned(hostsFile: string, fqdn: string, { hosts }: MachineLookup, { addresses }: KnownEndpoint): Finding {
  const lines = hosts.map(({ line, text }) => `line ${line} is "${text}"`);
  const strangers = hosts.filter(({ address }) => !addresses.has(address)).map(({ address }) => address);
  return {
    id: "hosts-file-pins",
    severity: "error",
    subject: hostsFile,
    evidence: `${list(lines)}${strangers.length === 0 ? "" : `; ${list(strangers)} ${strangers.length === 1 ? "is no target" : "are no targets"}`}.`,
    meaning: `Programs on this machine do not ask DNS for ${fqdn}: they connect to that address, whether the apiserver there is ready or not.`,
    remedy: `Remove ${hosts.length === 1 ? `line ${hosts[0]?.line}` : `lines ${list(hosts.map(({ line }) => String(line)))}`}. It helps only while a cluster is being made, before the name can be resolved.`,
  };
}

function judgeLookup(fqdn: string, { lookup }: MachineLookup, { addresses, resolved }: KnownEndpoint): Finding[] {
  // A resolver that fails is told of by itself.
  if (lookup === undefined || resolved.size === 0) return [];
  const found = "addresses" in lookup ? lookup.addresses : [];
  const strangers = found.filter((address) => !addresses.has(address) && !resolved.has(address));
  if (found.length > 0 && strangers.length === 0) return [];
  const seen =
    "problem" in lookup
      ? lookup.problem
      : `it gives ${list(found)}; ${list(strangers)} ${strangers.length === 1 ? "is no target" : "are no targets"}`;
  return [
    {
      id: "machine-resolves-otherwise",
      severity: "error",
      subject: fqdn,
      evidence: `getaddrinfo, which most programs use, does not say what the resolvers say: ${seen}.`,
      meaning: "Programs on this machine do not reach the endpoint, or reach something else.",
      remedy:
        'See "getent ahosts NAME" and the hosts: line of /etc/nsswitch.conf: dns (or resolve) must be in it, and nothing that answers before it (files, mdns, nscd, sssd) may know the name.',
    },
  ];
}

/** Judges which resolvers are named. */
export function judgeResolvConf({ file, nameservers, surplus }: ResolvConfFacts): Finding[] {
  if (nameservers.length === 0) {
    return [
      {
        id: "resolv-conf-empty",
        severity: "warning",
        subject: file,
        evidence: "It names no resolver, or is not there.",
        meaning: "Programs ask 127.0.0.1 then: without a resolver on this machine, they resolve nothing.",
        remedy: `Name the resolvers in ${file}, or name 127.0.0.1 there if this machine has one of its own.`,
      },
    ];
  }
  if (surplus.length === 0) return [];
  return [
    {
      id: "resolv-conf-surplus",
      severity: "note",
      subject: file,
      evidence: `It names ${nameservers.length + surplus.length} resolvers; ${list(surplus)} ${surplus.length === 1 ? "comes" : "come"} after the third.`,
      meaning: "Programs ask the first three only. The others were not asked here either.",
      remedy: "Put the three that are to be asked first, and remove the others.",
    },
  ];
}
