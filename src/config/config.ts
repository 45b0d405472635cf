import type { SocketAddress } from "../lib/listening.js";

/** Where a piece of configuration stands, for messages. */
export interface Position {
  /** File as shown to the user. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
}

/** The whole configuration after validation and defaults; deeply frozen. */
export interface Config {
  /** The main file, as the user named it. */
  readonly file: string;
  /** UDP and TCP are both opened on each. At least one. */
  readonly listen: readonly SocketAddress[];
  /** Threads that answer queries, 1 to 64; `auto` has been resolved. Default 1. */
  readonly workers: number;
  /** Directory for overrides, last health and serials; absent = nothing persisted. Absolute. */
  readonly stateDir?: string;
  readonly admin: AdminConfig;
  /** Reload when a file of the configuration changes. Default false. */
  readonly watch: boolean;
  readonly log: { readonly level: LogLevel };
  readonly zones: readonly ZoneConfig[];
}

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "silent";

export interface AdminConfig {
  /** Path of the control socket; absent = none. */
  readonly socket?: string;
  /** Address of the HTTP listener; absent = none. */
  readonly http?: SocketAddress;
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
  readonly soa: SoaConfig;
  /** Master-file lines as written; absent = none. */
  readonly records?: RecordsConfig;
  /** In the order written. */
  readonly endpoints: readonly EndpointConfig[];
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
  /** Default 7200. */
  readonly refresh: number;
  /** Default 900. */
  readonly retry: number;
  /** Default 1 209 600. */
  readonly expire: number;
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
  /** In the order written. At least one until discovery exists. */
  readonly targets: readonly TargetConfig[];
  readonly probe: ProbeConfig;
  readonly whenAllDown: WhenAllDown;
  /** With fewer targets up than this, the endpoint counts as all down. At least 1, default 1. */
  readonly minHealthy: number;
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
}

/** What to answer when fewer than `minHealthy` targets are up. */
export type WhenAllDown =
  | { readonly kind: "all" }
  | { readonly kind: "last-healthy" }
  | { readonly kind: "none" }
  | { readonly kind: "addresses"; readonly addresses: readonly string[] };

/** How one target address is probed; everything that two endpoints must agree on to share a probe. */
export type ProbeConfig = ProbeSchedule &
  (HttpsProbeConfig | HttpProbeConfig | TcpProbeConfig | ExecProbeConfig | NoProbeConfig);

/** Milliseconds and counts; defaults in brackets. */
export interface ProbeSchedule {
  /** [2000] 100 to 3 600 000. */
  readonly intervalMs: number;
  /** [2000] 50 to 60 000, at most `intervalMs`. */
  readonly timeoutMs: number;
  /** [1000] 50 to `intervalMs`. */
  readonly recheckMs: number;
  /** [2] 1 to 100. */
  readonly rise: number;
  /** [3] 1 to 100. */
  readonly fall: number;
}

export interface HttpRequestConfig {
  /** Starts with `/`. Default `/readyz`. */
  readonly path: string;
  /** Default [200]. 100 to 599. */
  readonly expectStatus: readonly number[];
  /** Host header, SNI and certificate name. Default: the endpoint's fqdn. */
  readonly serverName: string;
  /** Port to probe. Default: the endpoint's. */
  readonly port: number;
  /** File with a bearer token, absolute; absent = none. Re-read when it changes. */
  readonly bearerTokenFile?: string;
}

export interface HttpsProbeConfig extends HttpRequestConfig {
  readonly type: "https";
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
  /** Program and arguments; no shell. At least the program. */
  readonly command: readonly string[];
}

/** Never probed, always up. */
export interface NoProbeConfig {
  readonly type: "none";
}
