import { TYPE } from "../wire/constants.js";
import { formatName, lowerName, type Name } from "../wire/name.js";
import { embeddedNames } from "../wire/rdata.js";
import { latin1 } from "../wire/rdata-text.js";
import type { Entry, Report } from "./entries.js";
import { cutAbove } from "./existing-names.js";
import type { ZoneEndpoint } from "./zone.js";

/** No other data beside a CNAME (RFC 1034 §3.6.2, RFC 2181 §10.1), and one CNAME only. */
export function checkCnames(
  entries: ReadonlyMap<string, Entry>,
  reserved: ReadonlyMap<string, string>,
  report: Report,
): void {
  const reservedOwners = new Map([...reserved].map(([key, label]) => [key.slice(0, key.lastIndexOf(" ")), label]));
  const byOwner = groupByOwner(entries);
  for (const entry of entries.values()) {
    if (entry.type !== TYPE.CNAME) continue;
    if (entry.rdatas.length > 1) {
      report(
        entry.position,
        "RECORD_CNAME_MULTIPLE",
        `${entry.what} is given ${entry.rdatas.length} times`,
        "Keep one: an alias has one target.",
      );
    }
    const endpoint = reservedOwners.get(entry.name);
    const other = byOwner.get(entry.name)?.find((candidate) => candidate.type !== TYPE.CNAME);
    const beside = endpoint ?? other?.what;
    if (beside !== undefined) {
      report(
        entry.position,
        "RECORD_CNAME_CONFLICT",
        `${entry.what} stands beside ${beside}, but an alias cannot have other data`,
        "Remove one of the two.",
      );
    }
  }
}

function groupByOwner(entries: ReadonlyMap<string, Entry>): Map<Name, Entry[]> {
  const groups = new Map<Name, Entry[]>();
  for (const entry of entries.values()) groups.set(entry.name, [...(groups.get(entry.name) ?? []), entry]);
  return groups;
}

/** At a cut only NS and DS, below it only addresses of the child's nameservers (RFC 1034 §4.2.1, RFC 2181 §6). */
export function checkCuts(
  entries: ReadonlyMap<string, Entry>,
  cuts: ReadonlySet<Name>,
  endpoints: readonly ZoneEndpoint[],
  report: Report,
): void {
  const glue = new Set<string>();
  for (const cut of cuts) {
    for (const rdata of entries.get(`${cut} ${TYPE.NS}`)?.rdatas ?? []) {
      for (const name of embeddedNames(TYPE.NS, rdata))
        glue.add(lowerName(latin1(rdata.subarray(name.offset, name.offset + name.length)) as Name));
    }
  }
  for (const entry of entries.values()) {
    if (entry.type === TYPE.NS && entry.name.startsWith("\x01*")) {
      report(
        entry.position,
        "RECORD_WILDCARD_DELEGATION",
        `${entry.what} delegates a wildcard, which resolvers cannot follow (RFC 4592 §4.2)`,
        "Delegate each name by itself.",
      );
      continue;
    }
    const cut = cutAbove(entry.name, cuts);
    if (cut === undefined) continue;
    const isAddress = entry.type === TYPE.A || entry.type === TYPE.AAAA;
    if (isAddress && glue.has(entry.name)) continue;
    if (entry.name === cut && (entry.type === TYPE.NS || entry.type === TYPE.DS)) continue;
    report(
      entry.position,
      "RECORD_BELOW_DELEGATION",
      `${entry.what} belongs to ${formatName(cut)}, which is delegated to other servers`,
      "Put it into the child zone, or remove the NS records.",
    );
  }
  for (const endpoint of endpoints) {
    const cut = cutAbove(endpoint.name, cuts);
    if (cut !== undefined) {
      report(
        endpoint.config.position,
        "ENDPOINT_BELOW_DELEGATION",
        `the endpoint ${endpoint.fqdn} lies in ${formatName(cut)}, which is delegated to other servers`,
        "Move the endpoint, or remove the NS records.",
      );
    }
  }
}
