import type { Name } from "../wire/name.js";

/** All records of one name and type: one TTL, no two equal (RFC 2181 §5). */
export interface RRset {
  /** Owner, lower case. */
  readonly name: Name;
  readonly type: number;
  /** Seconds. */
  readonly ttl: number;
  /** Uncompressed wire form of each record's data; never empty. */
  readonly rdatas: readonly Uint8Array[];
  /** How many of the records one answer holds, in turns; absent = all. */
  readonly atMost?: number;
}

/** The start of authority without its serial, which belongs to what is published, not to what is configured. */
export interface ZoneSoa {
  /** MNAME: the first nameserver. */
  readonly primary: Name;
  /** RNAME. */
  readonly contact: Name;
  /** Seconds. */
  readonly refresh: number;
  /** Seconds. */
  readonly retry: number;
  /** Seconds. */
  readonly expire: number;
  /** MINIMUM, and the SOA's own TTL: seconds a resolver keeps a negative answer (RFC 2308 §4, §5). */
  readonly negativeTtl: number;
}

/** One target of an endpoint as the zone sees it. */
export interface ZoneTarget {
  readonly id: string;
  /** `<target>.<endpoint>`, lower case: where its SRV record points. */
  readonly name: Name;
}

/** A name whose addresses follow health. */
export interface ZoneEndpoint {
  /** The identity of the endpoint everywhere: lower case, without the trailing dot. */
  readonly fqdn: string;
  /** Lower case. */
  readonly name: Name;
  /** `_https._tcp.<endpoint>`. */
  readonly serviceName: Name;
  /** `_status.<endpoint>`, if it is published. */
  readonly statusName?: Name;
  readonly port: number;
  /** Seconds, of all that follows health. */
  readonly ttl: number;
  readonly targets: readonly ZoneTarget[];
  /** At most this many addresses in one answer; absent = all. */
  readonly maxAnswers?: number;
}

/**
 * A zone as configured: an immutable value. What follows health is named here, and filled in by `answers/`.
 */
export interface Zone {
  /** Apex, lower case. */
  readonly name: Name;
  readonly soa: ZoneSoa;
  /** Static records by lower-case owner, then type; the apex NS and the nameservers' addresses are among them. */
  readonly records: ReadonlyMap<Name, ReadonlyMap<number, RRset>>;
  readonly endpoints: readonly ZoneEndpoint[];
  /** Owners of child delegations, lower case. */
  readonly cuts: ReadonlySet<Name>;
  /**
   * Every name that exists and is not hidden below a cut, lower case: owners of records, names that follow health, and
   * the empty non-terminals between them and the apex (RFC 4592 §2.2.2). Fixed for the life of the value, so that a
   * configured name is never NXDOMAIN.
   */
  readonly names: ReadonlySet<Name>;
}
