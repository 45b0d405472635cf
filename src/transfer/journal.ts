import { TYPE } from "../wire/constants.js";
import type { Name } from "../wire/name.js";
import { type ResourceRecord, rdataKey } from "../wire/rdata.js";
import { type RRsetChange, SOA_SERIAL_FROM_END, type ZoneChange } from "../zone/live-zone.js";
import type { RRsets } from "../zone/rrsets.js";
import type { RRset } from "../zone/zone.js";

/** A zone whose records can be read; a `LiveZone` is one. */
export interface ZoneSource {
  readonly zone: { readonly name: Name };
  readonly serial: number;
  rrsets(name: Name): RRsets;
  /** Every name with records, each once. */
  owners(): Iterable<Name>;
}

/** How much a journal keeps. */
export interface JournalLimits {
  /** States before the present one from which a difference can be told. */
  readonly versions: number;
  /** Changes of RRsets in all of them, which bounds the memory: some 100 octets each. */
  readonly changes: number;
}

/** What leads from one state of a zone to its present one (RFC 1995 §4). */
export interface ZoneDifference {
  /** The SOA record of the old state and of the present one, each with its serial. */
  readonly soaBefore: ResourceRecord;
  readonly soaAfter: ResourceRecord;
  /** Records that are in the old state only, without the SOA. */
  readonly deleted: readonly ResourceRecord[];
  /** Records that are in the present state only, without the SOA. */
  readonly added: readonly ResourceRecord[];
}

/** One change, and the serial before it. */
interface Version {
  readonly serial: number;
  readonly rrsets: readonly RRsetChange[];
}

/** An RRset in an old state and in the present one; absent = there is none. */
interface BeforeAndAfter {
  readonly before: RRset | undefined;
  after: RRset | undefined;
}

/** The last states of a zone: tells the difference between any of them and the present one, as a single step. */
export class ZoneJournal {
  /** Oldest first; each ends where the next begins, the last one at the present serial. */
  private versions: Version[] = [];
  private changes = 0;

  constructor(
    private readonly source: ZoneSource,
    private limits: JournalLimits,
  ) {}

  /** How many states before the present one are kept. */
  get size(): number {
    return this.versions.length;
  }

  setLimits(limits: JournalLimits): void {
    this.limits = limits;
    this.trim();
  }

  /** Takes note of a change of the zone, which has happened. */
  record({ serialBefore, rrsets }: ZoneChange): void {
    this.versions.push({ serial: serialBefore, rrsets });
    this.changes += rrsets.length;
    this.trim();
  }

  /** Keeps none of the states until now. */
  clear(): void {
    this.versions = [];
    this.changes = 0;
  }

  /** What leads from the state with this serial to the present one; undefined if that state is not kept. */
  difference(serial: number): ZoneDifference | undefined {
    const first = this.versions.findIndex((version) => version.serial === serial);
    if (first < 0) return undefined;
    const { source } = this;
    const deleted: ResourceRecord[] = [];
    const added: ResourceRecord[] = [];
    let oldSoa: RRset | undefined;
    for (const types of condense(this.versions.slice(first)).values()) {
      for (const { before, after } of types.values()) {
        if (before?.type === TYPE.SOA) oldSoa = before;
        else compare(before, after, deleted, added);
      }
    }
    const soaAfter = presentSoa(source);
    const soaBefore = oldSoa === undefined ? presentSoa(source, serial) : soaRecordOf(oldSoa, serial);
    return { soaBefore, soaAfter, deleted, added };
  }

  private trim(): void {
    const { versions, changes } = this.limits;
    let dropped = 0;
    while (this.versions.length - dropped > versions || (this.changes > changes && dropped < this.versions.length)) {
      this.changes -= (this.versions[dropped] as Version).rrsets.length;
      dropped += 1;
    }
    if (dropped > 0) this.versions.splice(0, dropped);
  }
}

/** The SOA record of a zone as it is published. @param serial default: the present one */
export function presentSoa(source: ZoneSource, serial: number = source.serial): ResourceRecord {
  const soa = source.rrsets(source.zone.name).get(TYPE.SOA);
  if (soa === undefined) throw new Error("a zone has an SOA record");
  return soaRecordOf(soa, serial);
}

/** Every record of a zone but its SOA, as it is at this moment, however long the reading takes. */
export function presentRecords(source: ZoneSource): readonly ResourceRecord[] {
  const records: ResourceRecord[] = [];
  for (const name of source.owners()) {
    for (const rrset of source.rrsets(name).values()) if (rrset.type !== TYPE.SOA) records.push(...recordsOf(rrset));
  }
  return records;
}

function soaRecordOf({ name, ttl, rdatas: [rdata] }: RRset, serial: number): ResourceRecord {
  const dated = Uint8Array.from(rdata as Uint8Array);
  new DataView(dated.buffer).setUint32(dated.length - SOA_SERIAL_FROM_END, serial);
  return { name, type: TYPE.SOA, ttl, rdata: dated };
}

/** Changes one behind the other as a single one, by name and type. */
function condense(versions: readonly Version[]): Map<Name, Map<number, BeforeAndAfter>> {
  const names = new Map<Name, Map<number, BeforeAndAfter>>();
  for (const { rrsets } of versions) {
    for (const { name, type, before, after } of rrsets) {
      const types = names.get(name) ?? new Map<number, BeforeAndAfter>();
      const already = types.get(type);
      if (already === undefined) types.set(type, { before, after });
      else already.after = after;
      names.set(name, types);
    }
  }
  return names;
}

/** Adds the records in which two states of an RRset differ; their order does not count. */
function compare(
  before: RRset | undefined,
  after: RRset | undefined,
  deleted: ResourceRecord[],
  added: ResourceRecord[],
): void {
  if (before === undefined || after === undefined || before.ttl !== after.ttl) {
    if (before !== undefined) deleted.push(...recordsOf(before));
    if (after !== undefined) added.push(...recordsOf(after));
    return;
  }
  const { type } = before;
  const keysBefore = new Set(before.rdatas.map((rdata) => rdataKey(type, rdata)));
  const keysAfter = new Set(after.rdatas.map((rdata) => rdataKey(type, rdata)));
  deleted.push(...recordsOf(before).filter(({ rdata }) => !keysAfter.has(rdataKey(type, rdata))));
  added.push(...recordsOf(after).filter(({ rdata }) => !keysBefore.has(rdataKey(type, rdata))));
}

function recordsOf({ name, type, ttl, rdatas }: RRset): ResourceRecord[] {
  return rdatas.map((rdata) => ({ name, type, ttl, rdata }));
}
