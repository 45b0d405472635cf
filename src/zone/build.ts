import type { Position, ZoneConfig } from "../config/config.js";
import { messageOf, type Problem } from "../lib/errors.js";
import { addressOctets } from "../wire/address.js";
import { HEADER_OCTETS, MAX_NAME_OCTETS, MAX_TCP_MESSAGE_OCTETS, TYPE, typeText } from "../wire/constants.js";
import { formatName, isWithin, lowerName, type Name, nameOctets, parseName } from "../wire/name.js";
import { embeddedNames } from "../wire/rdata.js";
import { latin1 } from "../wire/rdata-text.js";
import { createZoneEndpoint, ownedNames } from "./endpoint.js";
import { cutAbove } from "./existing-names.js";
import { parseRecords } from "./records.js";
import type { RRset, Zone, ZoneEndpoint } from "./zone.js";

/**
 * Seconds resolvers keep the apex NS records and the nameservers' addresses. Short beside the usual hours, so that a
 * nameserver that moves is followed soon; long beside the endpoints' TTL, since these do not follow health.
 */
const NAMESERVER_TTL_SECONDS = 300;

/** DNAME (RFC 6672) rewrites the names below it, which takes more than a record. */
const TYPE_DNAME = 39;

/** What {@link buildZone} made of a zone's configuration; without `zone` there is at least one error. */
export interface BuiltZone {
  readonly zone?: Zone;
  readonly problems: readonly Problem[];
}

/** A record's place in the zone while it is being built. */
interface Entry {
  readonly name: Name;
  readonly type: number;
  readonly ttl: number;
  readonly rdatas: Uint8Array[];
  readonly position: Position;
  /** How messages name it: `the record of "registry"`. */
  readonly what: string;
}

/** Builds the zone's value from its configuration, and says everything in it that conflicts. */
export function buildZone(config: ZoneConfig): BuiltZone {
  const problems: Problem[] = [];
  const apex = lowerName(parseName(`${config.zone}.`));
  const entries = new Map<string, Entry>();
  const report = (position: Position, code: string, message: string, remedy: string): void => {
    problems.push({ ...position, code, message, remedy });
  };

  addNameservers(config, apex, entries, report);
  const nameservers = new Set([...entries.values()].map(({ name }) => name).filter((name) => name !== apex));
  const endpoints = config.endpoints.map((endpoint) => createZoneEndpoint(endpoint, apex));
  const reserved = reservedNames(endpoints);

  if (config.records !== undefined) {
    const parsed = parseRecords(config.records.text, {
      origin: apex,
      defaultTtl: config.records.defaultTtl,
      locate: config.records.locate,
    });
    problems.push(...parsed.problems);
    for (const record of parsed.records) {
      const name = lowerName(record.name);
      const what = `${formatName(record.name)} ${typeText(record.type)}`;
      if (record.type === TYPE_DNAME) {
        report(
          record.position,
          "RECORD_TYPE_UNSUPPORTED",
          `${what} is a DNAME, which livezone does not expand`,
          "Use a CNAME for each name.",
        );
        continue;
      }
      const owner = reserved.get(`${name} ${record.type}`);
      if (owner !== undefined) {
        report(
          record.position,
          "RECORD_ENDPOINT_CONFLICT",
          `${what} is also what ${owner} answers by health`,
          "Remove the record, or give it another name.",
        );
        continue;
      }
      if (nameservers.has(name) && (record.type === TYPE.A || record.type === TYPE.AAAA)) {
        // The delegation takes the addresses under `nameservers` alone: with others here, glue and zone would differ.
        report(
          record.position,
          "RECORD_NAMESERVER_CONFLICT",
          `${what} is an address of a name server, which belongs under nameservers, where the glue comes from`,
          "Remove the record, and write the address under nameservers.",
        );
        continue;
      }
      const key = `${name} ${record.type}`;
      const present = entries.get(key);
      if (present === undefined) {
        entries.set(key, {
          name,
          type: record.type,
          ttl: record.ttl,
          rdatas: [record.rdata],
          position: record.position,
          what,
        });
      } else {
        present.rdatas.push(record.rdata);
      }
    }
  }

  checkCnames(entries, reserved, report);
  checkSizes(entries, report);
  const cuts = new Set(
    [...entries.values()].filter((entry) => entry.type === TYPE.NS && entry.name !== apex).map((entry) => entry.name),
  );
  checkCuts(entries, cuts, endpoints, report);
  if (problems.some((problem) => problem.severity !== "warning")) return { problems };

  return {
    problems,
    zone: {
      config,
      name: apex,
      soa: {
        primary: parseName(config.nameservers[0]?.name ?? "@", apex),
        contact: parseName(`${config.soa.contact}.`),
        refresh: config.soa.refresh,
        retry: config.soa.retry,
        expire: config.soa.expire,
        negativeTtl: config.soa.negativeTtl,
      },
      records: collect(entries),
      endpoints,
      cuts,
    },
  };
}

type Report = (position: Position, code: string, message: string, remedy: string) => void;

function addNameservers(config: ZoneConfig, apex: Name, entries: Map<string, Entry>, report: Report): void {
  const ns: Uint8Array[] = [];
  for (const server of config.nameservers) {
    let name: Name;
    try {
      name = lowerName(parseName(server.name, apex));
    } catch (error) {
      report(
        server.position,
        "NAMESERVER_NAME_INVALID",
        `${JSON.stringify(server.name)} is not a name: ${messageOf(error)}`,
        "Write a host name, relative to the zone or with a trailing dot.",
      );
      continue;
    }
    ns.push(nameOctets(name));
    const inZone = isWithin(name, apex);
    if (inZone && server.addresses.length === 0) {
      report(
        server.position,
        "NAMESERVER_GLUE_MISSING",
        `${server.name} lies inside the zone but has no address`,
        "Give it its addresses: the parent zone needs them as glue.",
      );
    }
    if (!inZone) {
      if (server.addresses.length > 0) {
        report(
          server.position,
          "NAMESERVER_OUT_OF_ZONE",
          `${server.name} lies outside the zone, which cannot hold its addresses`,
          "Remove the addresses, or use a name inside the zone.",
        );
      }
      continue;
    }
    for (const address of server.addresses) {
      const rdata = addressOctets(address);
      const type = rdata.length === 4 ? TYPE.A : TYPE.AAAA;
      const key = `${name} ${type}`;
      const entry = entries.get(key) ?? {
        name,
        type,
        ttl: NAMESERVER_TTL_SECONDS,
        rdatas: [],
        position: server.position,
        what: `the address of ${server.name}`,
      };
      entry.rdatas.push(rdata);
      entries.set(key, entry);
    }
  }
  const first = config.nameservers[0];
  if (first !== undefined && ns.length > 0) {
    entries.set(`${apex} ${TYPE.NS}`, {
      name: apex,
      type: TYPE.NS,
      ttl: NAMESERVER_TTL_SECONDS,
      rdatas: ns,
      position: first.position,
      what: "the nameservers",
    });
  }
}

/** Owner and type of everything that follows health → how to name it in a message. */
function reservedNames(endpoints: readonly ZoneEndpoint[]): Map<string, string> {
  const reserved = new Map<string, string>();
  for (const endpoint of endpoints) {
    const label = `the endpoint "${endpoint.config.name}"`;
    for (const { name, types } of ownedNames(endpoint)) {
      for (const type of types) reserved.set(`${name} ${type}`, label);
    }
  }
  return reserved;
}

/** No other data beside a CNAME (RFC 1034 §3.6.2, RFC 2181 §10.1), and one CNAME only. */
function checkCnames(entries: ReadonlyMap<string, Entry>, reserved: ReadonlyMap<string, string>, report: Report): void {
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

/** Every RRset must fit into one message over TCP: header, question, OPT, and per record an owner, 10 octets and its data. */
function checkSizes(entries: ReadonlyMap<string, Entry>, report: Report): void {
  for (const entry of entries.values()) {
    const octets = entry.rdatas.reduce((sum, rdata) => sum + RECORD_HEAD_OCTETS + rdata.length, ENVELOPE_OCTETS);
    if (octets <= MAX_TCP_MESSAGE_OCTETS) continue;
    report(
      entry.position,
      "RECORD_SET_TOO_LARGE",
      `the ${entry.rdatas.length} records of ${entry.what} take up to ${octets} octets, but no message holds more than ${MAX_TCP_MESSAGE_OCTETS}`,
      "Keep fewer or shorter ones.",
    );
  }
}

/** Room that is needed beside the records: header (12), the longest question (255 + 4), OPT with what we put into it. */
const ENVELOPE_OCTETS = HEADER_OCTETS + MAX_NAME_OCTETS + 4 + 128;

/** A compressed owner, type, class, TTL and length (RFC 1035 §3.2.1, §4.1.4). */
const RECORD_HEAD_OCTETS = 2 + 10;

function groupByOwner(entries: ReadonlyMap<string, Entry>): Map<Name, Entry[]> {
  const groups = new Map<Name, Entry[]>();
  for (const entry of entries.values()) groups.set(entry.name, [...(groups.get(entry.name) ?? []), entry]);
  return groups;
}

/** At a cut only NS and DS, below it only addresses of the child's nameservers (RFC 1034 §4.2.1, RFC 2181 §6). */
function checkCuts(
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

function collect(entries: ReadonlyMap<string, Entry>): Map<Name, Map<number, RRset>> {
  const records = new Map<Name, Map<number, RRset>>();
  for (const { name, type, ttl, rdatas } of entries.values()) {
    const types = records.get(name) ?? new Map<number, RRset>();
    types.set(type, { name, type, ttl, rdatas });
    records.set(name, types);
  }
  return records;
}
