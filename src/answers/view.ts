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
  /** The records of a name by type; empty for an empty non-terminal or a name that does not exist. */
  rrsets(name: Name): ReadonlyMap<number, RRset>;
}

const NOTHING: ReadonlyMap<number, RRset> = new Map();

/** Octets of the SOA rdata from the serial on: serial, refresh, retry, expire, minimum. */
export const SOA_SERIAL_FROM_END = 20;

/** A view together with the one way to change it. */
export interface LivingZone {
  readonly view: ZoneView;
  /** Puts what an endpoint answers from now on into the view; touches the names of {@link livingNames} only. */
  update(endpoint: ZoneEndpoint, answerable: Answerable): void;
}

/** Begins with endpoints that answer nothing: `update` each before anything is compiled. */
export function createLivingZone(zone: Zone): LivingZone {
  const present = new Map<Name, Map<number, RRset>>();
  for (const [name, types] of zone.records) present.set(name, new Map(types));
  const put = (rrset: RRset): void => {
    const types = present.get(rrset.name) ?? new Map<number, RRset>();
    if (rrset.rdatas.length === 0) types.delete(rrset.type);
    else types.set(rrset.type, rrset);
    present.set(rrset.name, types);
  };
  put(soaRecord(zone));
  return {
    view: { zone, rrsets: (name) => present.get(name) ?? NOTHING },
    update(endpoint, answerable) {
      for (const rrset of endpointRecords(endpoint, answerable)) put(rrset);
    },
  };
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

function endpointRecords(endpoint: ZoneEndpoint, { addresses }: Answerable): RRset[] {
  const { ttl } = endpoint;
  const cap = endpoint.maxAnswers === undefined ? {} : { atMost: endpoint.maxAnswers };
  const all = addresses.map(({ address }) => address);
  const rrsets = addressRecords(endpoint.name, ttl, all).map((rrset) => ({ ...rrset, ...cap }));
  const srv: Uint8Array[] = [];
  for (const target of endpoint.targets) {
    const own = addresses.filter((candidate) => candidate.target === target.id).map(({ address }) => address);
    rrsets.push(...addressRecords(target.name, ttl, own));
    if (own.length === 0) continue;
    srv.push(Uint8Array.from([0, 0, 0, 0, endpoint.port >>> 8, endpoint.port & 0xff, ...nameOctets(target.name)]));
  }
  rrsets.push({ name: endpoint.serviceName, type: TYPE.SRV, ttl, rdatas: srv });
  return rrsets;
}

function addressRecords(name: Name, ttl: number, addresses: readonly string[]): RRset[] {
  const rdatas = addresses.map(addressOctets);
  return [
    { name, type: TYPE.A, ttl, rdatas: rdatas.filter((rdata) => rdata.length === 4) },
    { name, type: TYPE.AAAA, ttl, rdatas: rdatas.filter((rdata) => rdata.length === 16) },
  ];
}

/** The names whose records may change when the health of an endpoint does. */
export function livingNames(endpoint: ZoneEndpoint): Name[] {
  const names = [endpoint.name, endpoint.serviceName, ...endpoint.targets.map((target) => target.name)];
  return endpoint.statusName === undefined ? names : [...names, endpoint.statusName];
}
