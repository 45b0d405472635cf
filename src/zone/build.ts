import type { NameserverConfig, RecordsConfig, ZoneConfig } from "../config/config.js";
import type { Problem } from "../lib/errors.js";
import { addressOctets } from "../wire/address.js";
import { TYPE, typeText } from "../wire/constants.js";
import { formatName, isWithin, lowerName, type Name, nameOctets, parseName } from "../wire/name.js";
import { checkCnames, checkCuts } from "./conflicts.js";
import { checkDangling } from "./dangling.js";
import { createZoneEndpoint, ownedNames } from "./endpoint.js";
import { addRecord, type Entries, type Entry, entryKey, type Report } from "./entries.js";
import { parseRecords, type ZoneRecord } from "./records.js";
import { checkSizes } from "./sizes.js";
import type { RRset, Zone, ZoneEndpoint } from "./zone.js";

/**
 * Default TTL of the apex NS records and the nameservers' addresses, seconds. Short beside the usual hours, so that a
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

/** Builds the zone's value from its configuration, and says everything in it that conflicts. */
export function buildZone(config: ZoneConfig): BuiltZone {
  const problems: Problem[] = [];
  const apex = lowerName(parseName(`${config.zone}.`));
  const entries: Entries = new Map();
  const report: Report = (position, code, message, remedy, severity) => {
    problems.push({ ...position, code, message, remedy, ...(severity === undefined ? {} : { severity }) });
  };

  addNameservers(config, apex, entries, report);
  const nameservers = new Set([...entries.values()].map(({ name }) => name).filter((name) => name !== apex));
  const endpoints = config.endpoints.map((endpoint) => createZoneEndpoint(endpoint, apex));
  const reserved = reservedNames(endpoints);
  if (config.records !== undefined) {
    problems.push(...addRecords(config.records, apex, { entries, nameservers, reserved, report }));
  }

  checkCnames(entries, reserved, report);
  checkSizes(entries, endpoints, report);
  const cuts = new Set(
    [...entries.values()].filter((entry) => entry.type === TYPE.NS && entry.name !== apex).map((entry) => entry.name),
  );
  checkCuts(entries, cuts, endpoints, report);
  if (problems.some((problem) => problem.severity !== "warning")) return { problems };
  // What is left out because of an error would seem to be missing.
  checkDangling({ apex, entries, endpoints, cuts }, report);
  return { problems, zone: zoneOf(config, apex, entries, endpoints, cuts) };
}

function zoneOf(
  config: ZoneConfig,
  apex: Name,
  entries: Entries,
  endpoints: readonly ZoneEndpoint[],
  cuts: ReadonlySet<Name>,
): Zone {
  const { contact, refresh, retry, expire, negativeTtl } = config.soa;
  const primary = parseName(config.nameservers[0]?.name ?? "@", apex);
  return {
    config,
    name: apex,
    soa: { primary, contact: parseName(`${contact}.`), refresh, retry, expire, negativeTtl },
    records: collect(entries),
    endpoints,
    cuts,
  };
}

/** What records are checked against while they are added. */
interface RecordChecks {
  readonly entries: Entries;
  /** Names of the nameservers in the zone. */
  readonly nameservers: ReadonlySet<Name>;
  /** See {@link reservedNames}. */
  readonly reserved: ReadonlyMap<string, string>;
  readonly report: Report;
}

/** Adds the zone's own records. @returns what is wrong with their text */
function addRecords(records: RecordsConfig, apex: Name, checks: RecordChecks): readonly Problem[] {
  const { text, defaultTtl, locate } = records;
  const parsed = parseRecords(text, { origin: apex, defaultTtl, locate });
  for (const record of parsed.records) {
    const { type, ttl, rdata, position } = record;
    const name = lowerName(record.name);
    const what = `${formatName(record.name)} ${typeText(type)}`;
    if (isFit(record, name, what, checks)) addRecord(checks.entries, { name, type, ttl, position, what }, rdata);
  }
  return parsed.problems;
}

/** Whether a record may stand in the zone; reports why not. */
function isFit(
  { type, position }: ZoneRecord,
  name: Name,
  what: string,
  { nameservers, reserved, report }: RecordChecks,
): boolean {
  if (type === TYPE_DNAME) {
    report(
      position,
      "RECORD_TYPE_UNSUPPORTED",
      `${what} is a DNAME, which livezone does not expand`,
      "Use a CNAME for each name.",
    );
    return false;
  }
  const owner = reserved.get(entryKey(name, type));
  if (owner !== undefined) {
    report(
      position,
      "RECORD_ENDPOINT_CONFLICT",
      `${what} is also what ${owner} answers by health`,
      "Remove the record, or give it another name.",
    );
    return false;
  }
  if (!nameservers.has(name) || (type !== TYPE.A && type !== TYPE.AAAA)) return true;
  // The delegation takes the addresses under `nameservers` alone: with others here, glue and zone would differ.
  report(
    position,
    "RECORD_NAMESERVER_CONFLICT",
    `${what} is an address of a name server, which belongs under nameservers, where the glue comes from`,
    "Remove the record, and write the address under nameservers.",
  );
  return false;
}

/** Adds the apex NS records and the nameservers' addresses. That each one in the zone has some, the configuration checks. */
function addNameservers(config: ZoneConfig, apex: Name, entries: Entries, report: Report): void {
  const ttl = config.nameserverTtl ?? NAMESERVER_TTL_SECONDS;
  for (const server of config.nameservers) {
    const name = lowerName(parseName(server.name, apex));
    if (isWithin(name, apex)) addAddresses(server, name, ttl, entries);
    else if (server.addresses.length > 0) {
      report(
        server.position,
        "NAMESERVER_OUT_OF_ZONE",
        `${server.name} lies outside the zone, which cannot hold its addresses`,
        "Remove the addresses, or use a name inside the zone.",
      );
    }
    const { position } = server;
    addRecord(entries, { name: apex, type: TYPE.NS, ttl, position, what: "the nameservers" }, nameOctets(name));
  }
}

function addAddresses({ addresses, position, name: text }: NameserverConfig, name: Name, ttl: number, to: Entries) {
  for (const address of addresses) {
    const rdata = addressOctets(address);
    const type = rdata.length === 4 ? TYPE.A : TYPE.AAAA;
    addRecord(to, { name, type, ttl, position, what: `the address of ${text}` }, rdata);
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

function collect(entries: ReadonlyMap<string, Entry>): Map<Name, Map<number, RRset>> {
  const records = new Map<Name, Map<number, RRset>>();
  for (const { name, type, ttl, rdatas } of entries.values()) {
    const types = records.get(name) ?? new Map<number, RRset>();
    types.set(type, { name, type, ttl, rdatas });
    records.set(name, types);
  }
  return records;
}
