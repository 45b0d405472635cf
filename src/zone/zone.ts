import type { EndpointConfig, ZoneConfig } from "../config/config.js";
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
  /** How many of the records one answer holds: neighbours, the first of which changes in turn; absent = all. */
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

/** A name whose addresses follow health: its configuration, and the names that come of it. */
export interface ZoneEndpoint {
  /** Port, TTL, targets with their addresses, policies. At run time the targets may be others than in the file. */
  readonly config: EndpointConfig;
  /** The identity of the endpoint everywhere: lower case, without the trailing dot. */
  readonly fqdn: string;
  /** Lower case. */
  readonly name: Name;
  /** `_https._tcp.<endpoint>`. */
  readonly serviceName: Name;
  /** `_status.<endpoint>`, if it is published. */
  readonly statusName?: Name;
  /** In the order of `config.targets`. */
  readonly targets: readonly ZoneTarget[];
}

/**
 * A zone as configured: an immutable value. What follows health and run-time target sets is filled in by `LiveZone`.
 */
export interface Zone {
  readonly config: ZoneConfig;
  /** Apex, lower case. */
  readonly name: Name;
  readonly soa: ZoneSoa;
  /** Static records by lower-case owner, then type; the apex NS and the nameservers' addresses are among them. */
  readonly records: ReadonlyMap<Name, ReadonlyMap<number, RRset>>;
  readonly endpoints: readonly ZoneEndpoint[];
  /** Owners of child delegations, lower case. */
  readonly cuts: ReadonlySet<Name>;
}
