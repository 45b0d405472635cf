import { TYPE } from "../wire/constants.js";
import { type Name, nameOctets } from "../wire/name.js";
import { ownedNames } from "./endpoint.js";
import { type EndpointAnswers, EndpointStates } from "./endpoint-records.js";
import { ExistingNames } from "./existing-names.js";
import { type RRsets, sameRRset } from "./rrsets.js";
import { isSerialNewer, laterSerial, nextSerial } from "./serial.js";
import type { RRset, Zone, ZoneEndpoint } from "./zone.js";

/** One RRset as a change finds and leaves it; absent = there is none. */
export interface RRsetChange {
  readonly name: Name;
  readonly type: number;
  readonly before?: RRset;
  readonly after?: RRset;
}

/**
 * A change of a zone: a plain value, whoever made it (health, an override, a reload, a new target set).
 *
 * The serial in the SOA changes with every change and is not listed; an apex SOA among `rrsets` has changed otherwise,
 * and holds serial 0.
 */
export interface ZoneChange {
  /** Apex, lower case. */
  readonly zone: Name;
  readonly serialBefore: number;
  readonly serial: number;
  readonly rrsets: readonly RRsetChange[];
  /** Names that begin to exist, empty non-terminals included. */
  readonly appeared: readonly Name[];
  /** Names that cease to exist, likewise. */
  readonly disappeared: readonly Name[];
}

const NOTHING: RRsets = new Map();

/** Octets of the SOA rdata from the serial on: serial, refresh, retry, expire, minimum (RFC 1035 §3.3.13). */
export const SOA_SERIAL_FROM_END = 20;

/**
 * A zone at one moment: what is configured, and what health and target sets make of it now. Everything that needs its
 * records reads them here, be it for a query, a transfer or a signature.
 */
export class LiveZone {
  private current: Zone;
  private currentSerial: number;
  /** By fqdn; the targets may be others than in the configuration. */
  private endpoints = new Map<string, ZoneEndpoint>();
  /** Records of the names that follow health, and of the apex. */
  private followed = new Map<Name, RRsets>();
  private existing: ExistingNames;
  /** Records of the apex that do not follow health. */
  private apex: RRsets = NOTHING;
  /** By fqdn. */
  private readonly states = new Map<string, EndpointStates>();
  /** Whether another server makes the serials: a change here makes none. */
  private isMirrored = false;

  /**
   * @param answers what each endpoint answers at the beginning, by fqdn; one that is missing answers nothing
   * @param wallMs the present, milliseconds since 1970, for the serial
   * @param lastSerial the serial published before, which the first one exceeds
   */
  constructor(zone: Zone, answers: ReadonlyMap<string, EndpointAnswers>, wallMs: number, lastSerial?: number) {
    this.current = zone;
    this.currentSerial = nextSerial(lastSerial, wallMs, zone.config.soa.serialModulo);
    this.existing = this.begin(zone, answers);
  }

  /** As configured. */
  get zone(): Zone {
    return this.current;
  }

  /** The serial that is published now. */
  get serial(): number {
    return this.currentSerial;
  }

  /**
   * The records of a name by type; empty for an empty non-terminal or a name that does not exist. As long as the records
   * are the same, so is the map; where they become again what they were a while ago, it may be the map of that time.
   */
  rrsets(name: Name): RRsets {
    return this.followed.get(name) ?? this.current.records.get(name) ?? NOTHING;
  }

  /** Whether a name exists and is not hidden below a cut. */
  has(name: Name): boolean {
    return this.existing.has(name);
  }

  /** Every name that exists. */
  names(): Iterable<Name> {
    return this.existing.all();
  }

  /** Every name that may have records, each once; what lies below a cut (glue) included. */
  *owners(): Iterable<Name> {
    yield* this.current.records.keys();
    for (const name of this.followed.keys()) if (!this.current.records.has(name)) yield name;
  }

  /** An endpoint with the targets that it has now. */
  endpoint(fqdn: string): ZoneEndpoint | undefined {
    return this.endpoints.get(fqdn);
  }

  /**
   * Takes what an endpoint answers from now on.
   *
   * @param endpoint one of the zone's; its targets may be others than before, so that names come and go
   * @param wallMs the present, milliseconds since 1970, for the serial
   * @returns undefined if nothing changes
   */
  setEndpoint(endpoint: ZoneEndpoint, answers: EndpointAnswers, wallMs: number): ZoneChange | undefined {
    const before = this.endpoints.get(endpoint.fqdn);
    const rrsets: RRsetChange[] = [];
    const appeared: Name[] = [];
    const disappeared: Name[] = [];
    const state = this.statesOf(endpoint.fqdn).of(endpoint, answers, (name) => this.fixed(name));
    for (const [name, types] of state) {
      const present = this.rrsets(name);
      if (present === types || !pushChanges(rrsets, name, present, types)) continue;
      this.followed.set(name, types);
    }
    if (before !== undefined && before !== endpoint) {
      for (const { name } of ownedNames(endpoint)) appeared.push(...this.existing.add(name));
      for (const { name } of ownedNames(before)) {
        disappeared.push(...this.existing.remove(name));
        if (!state.has(name)) this.release(name, rrsets);
      }
    }
    this.endpoints.set(endpoint.fqdn, endpoint);
    return this.publish({ rrsets, appeared, disappeared }, wallMs);
  }

  /**
   * Takes another configuration of the zone.
   *
   * @param answers what each endpoint answers from now on, by fqdn
   * @returns undefined if no record changes
   */
  replace(zone: Zone, answers: ReadonlyMap<string, EndpointAnswers>, wallMs: number): ZoneChange | undefined {
    const recordsBefore = new Map([...this.owners()].map((name) => [name, this.rrsets(name)]));
    const namesBefore = new Set(this.names());
    this.current = zone;
    this.followed = new Map();
    this.endpoints = new Map();
    this.states.clear();
    this.existing = this.begin(zone, answers);
    const rrsets: RRsetChange[] = [];
    for (const name of new Set([...recordsBefore.keys(), ...this.owners()])) {
      pushChanges(rrsets, name, recordsBefore.get(name) ?? NOTHING, this.rrsets(name));
    }
    const appeared = [...this.names()].filter((name) => !namesBefore.has(name));
    const disappeared = [...namesBefore].filter((name) => !this.has(name));
    return this.publish({ rrsets, appeared, disappeared }, wallMs);
  }

  /**
   * Takes the serial of another server, and makes none from now on.
   *
   * @returns undefined if it is no later one than the present
   */
  mirror(serial: number): ZoneChange | undefined {
    this.isMirrored = true;
    return isSerialNewer(serial, this.currentSerial) ? this.renumber(serial) : undefined;
  }

  /** Takes a serial above another one and its own, and makes serials from now on. */
  raise(above: number, wallMs: number): ZoneChange {
    this.isMirrored = false;
    const last = laterSerial(this.currentSerial, above);
    return this.renumber(nextSerial(last, wallMs, this.current.config.soa.serialModulo));
  }

  /** Makes serials again, with the next change. */
  serveAlone(): void {
    this.isMirrored = false;
  }

  private renumber(serial: number): ZoneChange {
    const serialBefore = this.currentSerial;
    this.currentSerial = serial;
    return { zone: this.current.name, serialBefore, serial, rrsets: [], appeared: [], disappeared: [] };
  }

  /** Fills in the records of a configuration; returns the names that exist. */
  private begin(zone: Zone, answers: ReadonlyMap<string, EndpointAnswers>): ExistingNames {
    const existing = new ExistingNames(zone.name, zone.cuts);
    for (const owner of zone.records.keys()) existing.add(owner);
    this.followed.set(zone.name, new Map([...(zone.records.get(zone.name) ?? []), [TYPE.SOA, soaRecord(zone)]]));
    this.apex = this.rrsets(zone.name);
    for (const endpoint of zone.endpoints) {
      this.endpoints.set(endpoint.fqdn, endpoint);
      for (const { name } of ownedNames(endpoint)) existing.add(name);
      const now = answers.get(endpoint.fqdn);
      if (now === undefined) continue;
      const state = this.statesOf(endpoint.fqdn).of(endpoint, now, (name) => this.fixed(name));
      for (const [name, types] of state) this.followed.set(name, types);
    }
    return existing;
  }

  /** Records of a name that do not follow health. */
  private fixed(name: Name): RRsets | undefined {
    return name === this.current.name ? this.apex : this.current.records.get(name);
  }

  private statesOf(fqdn: string): EndpointStates {
    const present = this.states.get(fqdn);
    if (present !== undefined) return present;
    const states = new EndpointStates();
    this.states.set(fqdn, states);
    return states;
  }

  /** Lets a name have no records but those that do not follow health. */
  private release(name: Name, changes: RRsetChange[]): void {
    const present = this.rrsets(name);
    this.followed.delete(name);
    pushChanges(changes, name, present, this.rrsets(name));
  }

  private publish(
    change: Pick<ZoneChange, "rrsets" | "appeared" | "disappeared">,
    wallMs: number,
  ): ZoneChange | undefined {
    const { rrsets, appeared, disappeared } = change;
    if (rrsets.length === 0 && appeared.length === 0 && disappeared.length === 0) return undefined;
    const serialBefore = this.currentSerial;
    if (!this.isMirrored) this.currentSerial = nextSerial(serialBefore, wallMs, this.current.config.soa.serialModulo);
    return { zone: this.current.name, serialBefore, serial: this.currentSerial, ...change };
  }
}

/** The apex SOA with serial 0: the serial of the moment is written into every answer as it is sent. */
function soaRecord(zone: Zone): RRset {
  const { primary, contact, refresh, retry, expire, negativeTtl } = zone.soa;
  const numbers = new DataView(new ArrayBuffer(SOA_SERIAL_FROM_END));
  [0, refresh, retry, expire, negativeTtl].forEach((value, index) => {
    numbers.setUint32(index * 4, value);
  });
  const rdata = Uint8Array.from([...nameOctets(primary), ...nameOctets(contact), ...new Uint8Array(numbers.buffer)]);
  return { name: zone.name, type: TYPE.SOA, ttl: negativeTtl, rdatas: [rdata] };
}

/** Adds what differs between the records of a name; returns whether anything does. */
function pushChanges(changes: RRsetChange[], name: Name, before: RRsets, after: RRsets): boolean {
  const already = changes.length;
  for (const [type, rrset] of before) {
    const other = after.get(type);
    if (other === undefined) changes.push({ name, type, before: rrset });
    else if (!sameRRset(rrset, other)) changes.push({ name, type, before: rrset, after: other });
  }
  for (const [type, rrset] of after) if (!before.has(type)) changes.push({ name, type, after: rrset });
  return changes.length > already;
}
