import { addressOctets } from "../wire/address.js";
import { TYPE } from "../wire/constants.js";
import { type Name, nameOctets } from "../wire/name.js";
import { type RRsets, sameRRsets } from "./rrsets.js";
import type { RRset, ZoneEndpoint } from "./zone.js";

/** What an endpoint answers, and what it says of its targets, at one moment. */
export interface EndpointAnswers {
  /** In the order of the configuration; a policy may name an address without a target. */
  readonly addresses: readonly { readonly target?: string; readonly address: string }[];
  /** Character-strings of its status record, of at most 255 octets each; absent if it has none. */
  readonly status?: readonly string[];
}

/** The records of each name of an endpoint in one state, with those that the zone has there anyway. */
export type EndpointState = ReadonlyMap<Name, RRsets>;

/** Addresses whose data are kept; discovery may go through any number of them over the years. */
const MAX_KNOWN_ADDRESSES = 4_096;

/** States of an endpoint whose records are kept: its health goes to and fro between a few. */
const MAX_KNOWN_STATES = 16;

/** The records of one endpoint in the states it has been in lately. */
export class EndpointStates {
  /** By fingerprint. */
  private readonly known = new Map<string, EndpointState>();
  /** rdata by address: made once, since health comes and goes with the same ones. */
  private readonly addressData = new Map<string, Uint8Array>();
  /** The targets, and what they are in a fingerprint and in SRV records. */
  private endpoint: ZoneEndpoint | undefined;
  private fingerprint = "";
  private services: readonly Uint8Array[] = [];

  /**
   * The records of the endpoint; names that have the same records in two states have the same map.
   *
   * @param fixed the records of a name that do not follow health; always the same ones
   */
  of(endpoint: ZoneEndpoint, answers: EndpointAnswers, fixed: (name: Name) => RRsets | undefined): EndpointState {
    if (this.endpoint !== endpoint) this.take(endpoint);
    const print = this.fingerprint + fingerprintOf(answers);
    const known = this.known.get(print);
    if (known !== undefined) return known;
    const state = this.make(endpoint, answers, fixed);
    if (this.known.size === MAX_KNOWN_STATES) this.known.clear();
    this.known.set(print, state);
    return state;
  }

  private take(endpoint: ZoneEndpoint): void {
    const { ttl, port, maxAnswers = "" } = endpoint.config;
    this.endpoint = endpoint;
    this.services = endpoint.targets.map(({ name }) => serviceRdata(port, name));
    const targets = endpoint.targets.map(({ id }) => id).join(" ");
    this.fingerprint = `${ttl} ${port} ${maxAnswers} ${endpoint.statusName !== undefined} ${targets}\n`;
  }

  private make(
    endpoint: ZoneEndpoint,
    answers: EndpointAnswers,
    fixed: (name: Name) => RRsets | undefined,
  ): EndpointState {
    const state = new Map<Name, Map<number, RRset>>();
    for (const rrset of this.records(endpoint, answers)) {
      const types = state.get(rrset.name) ?? new Map(fixed(rrset.name));
      if (rrset.rdatas.length > 0) types.set(rrset.type, rrset);
      state.set(rrset.name, types);
    }
    const others = [...this.known.values()];
    const shared = [...state].map(([name, types]): [Name, RRsets] => {
      const same = others.map((other) => other.get(name)).find((other) => sameRRsets(types, other));
      return [name, same ?? types];
    });
    return new Map(shared);
  }

  /** Every RRset that the endpoint can have, those without records included. */
  private records(endpoint: ZoneEndpoint, { addresses, status = [] }: EndpointAnswers): RRset[] {
    const { ttl, maxAnswers } = endpoint.config;
    const cap = maxAnswers === undefined ? {} : { atMost: maxAnswers };
    const all = addresses.map(({ address }) => address);
    const rrsets = this.addressRecords(endpoint.name, ttl, all).map((rrset) => ({ ...rrset, ...cap }));
    const srv: Uint8Array[] = [];
    endpoint.targets.forEach((target, index) => {
      const own = addresses.filter((candidate) => candidate.target === target.id).map(({ address }) => address);
      rrsets.push(...this.addressRecords(target.name, ttl, own));
      if (own.length > 0) srv.push(this.services[index] as Uint8Array);
    });
    rrsets.push({ name: endpoint.serviceName, type: TYPE.SRV, ttl, rdatas: srv });
    if (endpoint.statusName !== undefined) {
      const rdatas = status.length === 0 ? [] : [textRdata(status)];
      rrsets.push({ name: endpoint.statusName, type: TYPE.TXT, ttl, rdatas });
    }
    return rrsets;
  }

  private addressRecords(name: Name, ttl: number, addresses: readonly string[]): RRset[] {
    const rdatas = addresses.map((address) => this.dataOf(address));
    return [
      { name, type: TYPE.A, ttl, rdatas: rdatas.filter((rdata) => rdata.length === 4) },
      { name, type: TYPE.AAAA, ttl, rdatas: rdatas.filter((rdata) => rdata.length === 16) },
    ];
  }

  private dataOf(address: string): Uint8Array {
    const known = this.addressData.get(address);
    if (known !== undefined) return known;
    if (this.addressData.size === MAX_KNOWN_ADDRESSES) this.addressData.clear();
    const data = addressOctets(address);
    this.addressData.set(address, data);
    return data;
  }
}

/** Equal for equal answers. */
function fingerprintOf({ addresses, status = [] }: EndpointAnswers): string {
  let print = "";
  for (const { target, address } of addresses) print += `${target} ${address}\n`;
  for (const text of status) print += `\n${text}`;
  return print;
}

/**
 * Priority 0, weight 1, port and target (RFC 2782). Equal weights mean the same whatever they are, but HAProxy sends nothing to a
 * server with weight 0.
 */
function serviceRdata(port: number, target: Name): Uint8Array {
  return Uint8Array.from([0, 0, 0, 1, port >>> 8, port & 0xff, ...nameOctets(target)]);
}

/** One TXT record of these strings (RFC 1035 §3.3.14). */
function textRdata(strings: readonly string[]): Uint8Array {
  return Uint8Array.from(strings.flatMap((text) => [text.length, ...Buffer.from(text, "latin1")]));
}
