import type { Answerable } from "../health/answerable.js";
import { addressOctets } from "../wire/address.js";
import { TYPE } from "../wire/constants.js";
import { type Name, nameOctets } from "../wire/name.js";
import type { RRset, Zone, ZoneEndpoint } from "../zone/zone.js";

/**
 * A zone at one moment: what is configured, and what health makes of it now. Everything that writes answers reads it
 * here, be it for a query, a transfer or a signature.
 */
export interface ZoneView {
  readonly zone: Zone;
  /**
   * The records of a name by type; empty for an empty non-terminal or a name that does not exist. As long as the records
   * are the same, so is the map; and where they become again what they were a while ago, it may be the one of then.
   */
  rrsets(name: Name): RRsets;
}

/** The records of one name by type. */
export type RRsets = ReadonlyMap<number, RRset>;

const NOTHING: RRsets = new Map();

/** Addresses whose data are kept; discovery may go through any number of them over the years. */
const MAX_KNOWN_ADDRESSES = 4_096;

/** States of an endpoint whose records are kept: its health goes to and fro between a few. */
const MAX_KNOWN_STATES = 16;

/** Octets of the SOA rdata from the serial on: serial, refresh, retry, expire, minimum. */
export const SOA_SERIAL_FROM_END = 20;

/** What an endpoint answers, and what it says of its targets, at one moment. */
export interface EndpointAnswers extends Answerable {
  /** Character-strings of its status record, of at most 255 octets each; absent if it has none. */
  readonly status?: readonly string[];
}

/** A view together with the one way to change it. */
export interface LiveZone {
  readonly view: ZoneView;
  /**
   * Puts what an endpoint answers from now on into the view; touches names of the endpoint only.
   *
   * @returns the names whose records are not what they were
   */
  update(endpoint: ZoneEndpoint, answers: EndpointAnswers): ReadonlySet<Name>;
}

/** The records of each name of an endpoint in one state, with those that the zone has there anyway. */
type EndpointState = ReadonlyMap<Name, RRsets>;

/** Begins with endpoints that answer nothing: `update` each before anything is compiled. */
export function createLiveZone(zone: Zone): LiveZone {
  const fixed = new Map<Name, RRsets>(zone.records);
  fixed.set(zone.name, new Map([...(fixed.get(zone.name) ?? []), [TYPE.SOA, soaRecord(zone)]]));
  const present = new Map(fixed);
  const recordsOf = createEndpointRecords();
  /** By fqdn and fingerprint. */
  const known = new Map<string, Map<string, EndpointState>>();

  /** The records of an endpoint; names that have the same records in two states have the same map. */
  const makeState = (
    endpoint: ZoneEndpoint,
    answers: EndpointAnswers,
    others: Iterable<EndpointState>,
  ): EndpointState => {
    const state = new Map<Name, Map<number, RRset>>();
    for (const rrset of recordsOf(endpoint, answers)) {
      const types = state.get(rrset.name) ?? new Map(fixed.get(rrset.name));
      if (rrset.rdatas.length > 0) types.set(rrset.type, rrset);
      state.set(rrset.name, types);
    }
    const candidates = [present, ...others];
    const shared = [...state].map(([name, types]): [Name, RRsets] => {
      const same = candidates.map((other) => other.get(name)).find((other) => sameRRsets(types, other));
      return [name, same ?? types];
    });
    return new Map(shared);
  };

  const stateOf = (endpoint: ZoneEndpoint, answers: EndpointAnswers): EndpointState => {
    const print = fingerprint(answers);
    const states = known.get(endpoint.fqdn) ?? new Map<string, EndpointState>();
    known.set(endpoint.fqdn, states);
    const remembered = states.get(print);
    if (remembered !== undefined) return remembered;
    const state = makeState(endpoint, answers, states.values());
    if (states.size === MAX_KNOWN_STATES) states.clear();
    states.set(print, state);
    return state;
  };

  return {
    view: { zone, rrsets: (name) => present.get(name) ?? NOTHING },
    update(endpoint, answers) {
      const changed = new Set<Name>();
      for (const [name, types] of stateOf(endpoint, answers)) {
        if (present.get(name) === types) continue;
        present.set(name, types);
        changed.add(name);
      }
      return changed;
    },
  };
}

/** Equal for equal answers. */
function fingerprint({ addresses, status = [] }: EndpointAnswers): string {
  let print = "";
  for (const { target, address } of addresses) print += `${target} ${address}\n`;
  for (const text of status) print += `\n${text}`;
  return print;
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

/** Makes the records of an endpoint; the data of each are made once, since health comes and goes with the same ones. */
function createEndpointRecords(): (endpoint: ZoneEndpoint, answers: EndpointAnswers) => RRset[] {
  const addressData = new Map<string, Uint8Array>();
  const serviceData = new WeakMap<ZoneEndpoint, readonly Uint8Array[]>();

  const dataOf = (address: string): Uint8Array => {
    const known = addressData.get(address);
    if (known !== undefined) return known;
    if (addressData.size === MAX_KNOWN_ADDRESSES) addressData.clear();
    const data = addressOctets(address);
    addressData.set(address, data);
    return data;
  };

  const addressRecords = (name: Name, ttl: number, addresses: readonly string[]): RRset[] => {
    const rdatas = addresses.map(dataOf);
    return [
      { name, type: TYPE.A, ttl, rdatas: rdatas.filter((rdata) => rdata.length === 4) },
      { name, type: TYPE.AAAA, ttl, rdatas: rdatas.filter((rdata) => rdata.length === 16) },
    ];
  };

  return (endpoint, { addresses, status = [] }) => {
    const { ttl } = endpoint;
    const cap = endpoint.maxAnswers === undefined ? {} : { atMost: endpoint.maxAnswers };
    const all = addresses.map(({ address }) => address);
    const rrsets = addressRecords(endpoint.name, ttl, all).map((rrset) => ({ ...rrset, ...cap }));
    const services = serviceData.get(endpoint) ?? endpoint.targets.map(({ name }) => serviceRdata(endpoint.port, name));
    serviceData.set(endpoint, services);
    const srv: Uint8Array[] = [];
    endpoint.targets.forEach((target, index) => {
      const own = addresses.filter((candidate) => candidate.target === target.id).map(({ address }) => address);
      rrsets.push(...addressRecords(target.name, ttl, own));
      if (own.length > 0) srv.push(services[index] as Uint8Array);
    });
    rrsets.push({ name: endpoint.serviceName, type: TYPE.SRV, ttl, rdatas: srv });
    if (endpoint.statusName !== undefined) {
      rrsets.push({
        name: endpoint.statusName,
        type: TYPE.TXT,
        ttl,
        rdatas: status.length === 0 ? [] : [textRdata(status)],
      });
    }
    return rrsets;
  };
}

/** Priority 0, weight 0, port and target (RFC 2782). */
function serviceRdata(port: number, target: Name): Uint8Array {
  return Uint8Array.from([0, 0, 0, 0, port >>> 8, port & 0xff, ...nameOctets(target)]);
}

/** Whether a name has the same records, in the same order. */
function sameRRsets(some: RRsets, others: RRsets | undefined): boolean {
  if (others === undefined || some.size !== others.size) return false;
  for (const [type, { rdatas }] of some) {
    const other = others.get(type);
    if (other === undefined || !sameRdatas(rdatas, other.rdatas)) return false;
  }
  return true;
}

function sameRdatas(some: readonly Uint8Array[], others: readonly Uint8Array[]): boolean {
  return some.length === others.length && some.every((rdata, index) => sameOctets(rdata, others[index]));
}

function sameOctets(some: Uint8Array, others: Uint8Array | undefined): boolean {
  if (some === others) return true;
  return some.length === others?.length && some.every((octet, i) => octet === others[i]);
}

/** One TXT record of these strings (RFC 1035 §3.3.14). */
function textRdata(strings: readonly string[]): Uint8Array {
  return Uint8Array.from(strings.flatMap((text) => [text.length, ...Buffer.from(text, "latin1")]));
}
