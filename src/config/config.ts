import type { SocketAddress } from "../lib/listening.js";
import type { TsigAlgorithm } from "../wire/tsig.js";
import type { DiscoverConfig } from "./discovery.js";
import type { Position } from "./position.js";

export type { Position };

/** The whole configuration after validation and defaults; deeply frozen. */
export interface Config {
  /** The main file, as the user named it. */
  readonly file: string;
  /** UDP and TCP are both opened on each. At least one. */
  readonly listen: readonly SocketAddress[];
  /** Where the main file names each of {@link listen}, in the same order. */
  readonly listenPositions: readonly Position[];
  /** Also on addresses that this machine does not have yet (`IP_FREEBIND`, ip(7)). Default false. */
  readonly freebind: boolean;
  /** Threads that answer queries, 1 to 64; `auto` has been resolved. Default 1. */
  readonly workers: number;
  /** Directory for overrides, last health and serials; absent = nothing persisted. Absolute. */
  readonly stateDir?: string;
  readonly admin: AdminConfig;
  /** Reload when a file of the configuration changes. Default false. */
  readonly watch: boolean;
  readonly log: { readonly level: LogLevel };
  readonly queries: QueriesConfig;
  readonly transfer: TransferConfig;
  /** Absent = this server knows of no other. */
  readonly siblings?: SiblingsConfig;
  readonly zones: readonly ZoneConfig[];
}

/** A range of addresses, as `10.0.0.0/8`. */
export interface AddressRange {
  /** IPv4 or IPv6 literal in canonical form; what lies behind `bits` is zero. */
  readonly address: string;
  /** 0 to 32 or 128. */
  readonly bits: number;
}

/** Who is answered how often, and what is told of the server. */
export interface QueriesConfig {
  /** Absent = everyone. */
  readonly allow?: readonly AddressRange[];
  /** Absent = no limit. */
  readonly rateLimit?: {
    /** Responses a second to one prefix, 1 to 1 000 000. */
    readonly perSecond: number;
    /** Every how-manieth limited response is sent truncated; 0 to 10. Default 2. */
    readonly slip: number;
    /** 8 to 32. Default 24. */
    readonly ipv4Prefix: number;
    /** 16 to 128. Default 56. */
    readonly ipv6Prefix: number;
  };
  /** File with the secrets of DNS cookies, absolute; absent = a random secret for the life of the process. */
  readonly cookieSecretFile?: string;
  /** What NSID, `id.server` and `hostname.bind` say, 1 to 128 octets; absent = nothing. */
  readonly identity?: string;
  /** What `version.server` and `version.bind` say, 1 to 128 octets; absent = nothing. */
  readonly version?: string;
  readonly tcp: {
    /** Connections at once, 1 to 100 000. Default 2 000. */
    readonly maxConnections: number;
    /** Of these from one address, 1 to 100 000. Default 200. */
    readonly maxPerClient: number;
    /** Milliseconds a connection is kept without a query, 1 000 to 600 000. Default 10 000. */
    readonly idleMs: number;
  };
}

/** What the transfers of all zones share. */
export interface TransferConfig {
  readonly keys: readonly TsigKeyConfig[];
  /** The catalog zone (RFC 9432), which names the zones that may be transferred; absent = there is none. */
  readonly catalog?: ZoneConfig;
}

/** A key that signs requests and replies (RFC 8945). */
export interface TsigKeyConfig {
  /** Domain name, lower case, without the trailing dot. */
  readonly name: string;
  /** Default `hmac-sha256`. */
  readonly algorithm: TsigAlgorithm;
  /** Absolute. */
  readonly secretFile: string;
}

/** Who may carry a zone. */
export interface ZoneTransferConfig {
  readonly to: readonly SecondaryConfig[];
  /** Who may transfer the zone beside these. */
  readonly allow: readonly {
    readonly from: AddressRange;
    /** Name of a key of the main file; absent = the address suffices. */
    readonly key?: string;
  }[];
  /** How {@link to} is told of changes. */
  readonly notify: {
    /** Milliseconds between two NOTIFYs to one secondary, 10 to 60 000. Default 200. */
    readonly minIntervalMs: number;
  };
  /** States that are kept for IXFR, 1 to 100 000. Default 1 000. */
  readonly versions: number;
}

/** A server that transfers the zone. */
export interface SecondaryConfig extends SocketAddress {
  /** Name of a key of the main file; absent = the address suffices. */
  readonly key?: string;
}

/** Other servers of the same zones. */
export interface SiblingsConfig {
  /** Of this server, lower case. */
  readonly name: string;
  readonly listen: SocketAddress;
  /** At least one once the configuration is right; this server itself is left out. */
  readonly peers: readonly SiblingConfig[];
  /** Absolute. */
  readonly secretFile: string;
  /** Default true. */
  readonly shareOverrides: boolean;
  /** Milliseconds, 0 to 300 000. Default 10 000. */
  readonly holdAtMostMs: number;
  /** Default `hold`. */
  readonly whenIsolated: "hold" | "silent";
}

/** Where a sibling listens. */
export interface SiblingConfig extends SocketAddress {
  /** Lower case; unique. */
  readonly name: string;
}

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "silent";

export interface AdminConfig {
  /** Path of the control socket; absent = none. */
  readonly socket?: string;
  /** Address of the HTTP listener; absent = none. */
  readonly http?: SocketAddress;
  /** Where {@link http} stands; absent with it. */
  readonly httpPosition?: Position;
  /** File with the bearer token that lets HTTP change state; absent = HTTP is read-only. Absolute. */
  readonly tokenFile?: string;
  /**
   * Names that the Host header may have besides localhost, addresses and the machine's host name, against DNS
   * rebinding; lower case, without the trailing dot. Default none.
   */
  readonly hostNames: readonly string[];
}

export interface ZoneConfig {
  /** Where `zone:` stands. */
  readonly position: Position;
  /** Zone name in presentation form, lower case, without the trailing dot: `k8s.example.com`. */
  readonly zone: string;
  /** Apex NS and their addresses, in the order written. At least one. */
  readonly nameservers: readonly NameserverConfig[];
  /** TTL of the apex NS and their addresses, seconds, 1 to 86 400. Absent = 300; the configuration always sets it. */
  readonly nameserverTtl?: number;
  readonly soa: SoaConfig;
  /** Master-file lines as written; absent = none. */
  readonly records?: RecordsConfig;
  /** In the order written. */
  readonly endpoints: readonly EndpointConfig[];
  /** Absent = nobody may transfer the zone. */
  readonly transfer?: ZoneTransferConfig;
  /** Loopback, link-local and other addresses that no client could use are accepted. Default false. */
  readonly allowSpecialAddresses: boolean;
}

export interface NameserverConfig {
  readonly position: Position;
  /** As written: relative to the zone (`ns1`) or absolute with a trailing dot (`ns1.example.net.`). */
  readonly name: string;
  /** IPv4 and IPv6 literals; empty only for a name outside the zone. */
  readonly addresses: readonly string[];
}

/** RFC 1035 §3.3.13; seconds throughout. */
export interface SoaConfig {
  /** Mailbox in presentation form with `@` written as a dot; default `hostmaster.<zone>`. No trailing dot. */
  readonly contact: string;
  /** MINIMUM and the SOA's own TTL, RFC 2308 §4. 1 to 86 400, default 5. */
  readonly negativeTtl: number;
  /** Default 7200; 60 in a zone with `transfer`. */
  readonly refresh: number;
  /** Default 900; 30 in a zone with `transfer`. */
  readonly retry: number;
  /** Default 1 209 600. */
  readonly expire: number;
  /** Which serials this server uses, where another primary uses others; absent = every serial. */
  readonly serialModulo?: { readonly remainder: number; readonly modulus: number };
}

export interface RecordsConfig {
  /** The lines, as YAML gives them. */
  readonly text: string;
  /** TTL of a line that names none: the zone's or the defaults' `ttl`. */
  readonly defaultTtl: number;
  /** Position in the file of a place in `text`; both from 1. */
  locate(line: number, column: number): Position;
}

export interface EndpointConfig {
  /** Where the endpoint's key stands. */
  readonly position: Position;
  /** Owner relative to the zone, lower case: `api`, `api.eu`, or `@`. */
  readonly name: string;
  /** Absolute, lower case, without the trailing dot: `api.k8s.example.com`. The identity of the endpoint. */
  readonly fqdn: string;
  /** Port of the apiservers, 1 to 65 535. Default 6443. */
  readonly port: number;
  /** Seconds, 1 to 86 400. Default 5. */
  readonly ttl: number;
  /** In the order written. May be empty only beside `discover`. */
  readonly targets: readonly TargetConfig[];
  /** Where more targets are found at run time; absent = nowhere. */
  readonly discover?: DiscoverConfig;
  readonly probe: ProbeConfig;
  readonly whenAllDown: WhenAllDown;
  /** With fewer targets up than this, the endpoint counts as all down. At least 1, default 1. */
  readonly minHealthy: number;
  /**
   * Whether a target without any result yet, after a start without remembered health, is answered. Absent =
   * `withhold`; the configuration always sets it.
   */
  readonly whenUnknown?: "withhold" | "answer";
  /** At most this many addresses in one answer; absent = all. */
  readonly maxAnswers?: number;
  /** Publish `_status.<endpoint>` TXT. Default false. */
  readonly statusRecord: boolean;
}

export interface TargetConfig {
  readonly position: Position;
  /** One DNS label, lower case: `cp1`. Unique in its endpoint. */
  readonly id: string;
  /** IPv4 and IPv6 literals in canonical text form (RFC 5952). At least one, unique in the endpoint. */
  readonly addresses: readonly string[];
  /** Where the target is probed instead of where it is answered. Absent = at each of its addresses. */
  readonly probe?: TargetProbeConfig;
  /** Switched off in the file: it is shown, but neither probed nor answered. Absent = no. */
  readonly disabled?: boolean;
  /**
   * Addresses that were discovered and have never passed a probe: they are not answered before they do, not even
   * when all is down. Absent = none.
   */
  readonly unproven?: readonly string[];
}

/** Another place to probe one target at, such as behind NAT. At least one of the two is there. */
export interface TargetProbeConfig {
  /** IPv4 or IPv6 literal; its result counts for all addresses of the target. Absent = each address itself. */
  readonly address?: string;
  /** 1 to 65 535. Absent = that of the endpoint's probe. */
  readonly port?: number;
}

/** What to answer when fewer than `minHealthy` targets are up. */
export type WhenAllDown =
  | { readonly kind: "all" }
  | { readonly kind: "last-healthy" }
  | { readonly kind: "none" }
  | { readonly kind: "addresses"; readonly addresses: readonly string[] };

/** How one target address is probed; everything that two endpoints must agree on to share a probe. */
export type ProbeConfig = SingleProbeConfig | (ProbeSchedule & AllProbesConfig);

/** A probe that is not a list of probes. */
export type SingleProbeConfig = ProbeSchedule &
  (HttpsProbeConfig | HttpProbeConfig | TcpProbeConfig | ExecProbeConfig | NoProbeConfig);

/** Milliseconds and counts; defaults in brackets. */
export interface ProbeSchedule {
  /** [2000] 100 to 3 600 000. */
  readonly intervalMs: number;
  /**
   * [3000] 50 to 60 000, at most `intervalMs` or 3000, whichever is more. Longer than the 2 s for which a kube-apiserver
   * waits for its etcd, so that the reason arrives. The next probe waits for the end of the one under way.
   */
  readonly timeoutMs: number;
  /** Time in which a connection must be made, at most `timeoutMs`; absent = as long as that. */
  readonly connectTimeoutMs?: number;
  /** [1000] 50 to `intervalMs`. */
  readonly recheckMs: number;
  /** [2] 1 to 100. */
  readonly rise: number;
  /** [3] 1 to 100. */
  readonly fall: number;
  /** Failures in a row that suffice, 1 to 100, by class of result; for the others `fall`, or 2 of hard evidence. */
  readonly thresholds?: Readonly<Partial<Record<FailureClass, number | undefined>>>;
  /** How flapping is damped; absent = it is not. The configuration always sets it. */
  readonly flap?: FlapSettings;
  /** Keep an idle connection, whose end makes a probe run at once. Absent = no; the configuration's default is yes. */
  readonly tripwire?: boolean;
}

/** Classes of failed probes that a threshold can be set for. */
export const FAILURE_CLASSES = [
  "not-ready",
  "overloaded",
  "auth-required",
  "unexpected-status",
  "refused",
  "reset",
  "unreachable",
  "timeout",
  "tls-untrusted",
  "tls-name-mismatch",
  "tls-expired",
  "tls-protocol",
  "malformed-response",
] as const;

export type FailureClass = (typeof FAILURE_CLASSES)[number];

/** A target that changes more often than `limit` in `windowMs` must pass without a break for a growing time. */
export interface FlapSettings {
  /** [5] 1 to 100. */
  readonly limit: number;
  /** [600 000] 60 000 to 86 400 000, milliseconds. */
  readonly windowMs: number;
}

export interface HttpRequestConfig {
  /** Starts with `/`. Default `/readyz`. */
  readonly path: string;
  /** Default [200]. 100 to 599. */
  readonly expectStatus: readonly number[];
  /** Host header, SNI and certificate name; an IP address is no SNI (RFC 6066 §3). Default: the endpoint's fqdn. */
  readonly serverName: string;
  /** Port to probe. Default: the endpoint's. */
  readonly port: number;
  /** File with a bearer token, absolute; absent = none. Re-read when it changes. */
  readonly bearerTokenFile?: string;
}

export interface HttpsProbeConfig extends HttpRequestConfig {
  readonly type: "https";
  /** Resume TLS sessions, up to five minutes each, instead of verifying the certificate every time. Absent = no. */
  readonly resumeTls?: boolean;
  /** PEM file of the authorities that may sign the certificate, absolute; absent = the system's. */
  readonly ca?: string;
  /** Accept any certificate. Default false. */
  readonly insecureSkipVerify: boolean;
  /** PEM files, absolute. */
  readonly clientCertificate?: { readonly cert: string; readonly key: string };
}

export interface HttpProbeConfig extends HttpRequestConfig {
  readonly type: "http";
}

export interface TcpProbeConfig {
  readonly type: "tcp";
  readonly port: number;
}

export interface ExecProbeConfig {
  readonly type: "exec";
  /** Program and arguments; no shell. A program with a slash is absolute, any other is looked for in PATH. */
  readonly command: readonly string[];
  /** Told to the program. */
  readonly port: number;
}

/** Several probes at once. All must pass; the first that fails decides. */
export interface AllProbesConfig {
  readonly type: "all";
  /** In the order written; at least two, none of type `none`, with the same schedule each. */
  readonly probes: readonly SingleProbeConfig[];
}

/** Never probed, always up. */
export interface NoProbeConfig {
  readonly type: "none";
}
