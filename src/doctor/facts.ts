import type { Reply } from "../client/reply.js";
import type { Inspection } from "../discovery/inspect.js";
import type { ProbeResult } from "../health/health.js";
import type { SocketAddress } from "../lib/listening.js";

/** What came back to one question: a reply, or why none. */
export type Heard =
  | { readonly reply: Reply }
  | {
      /** In plain words. */
      readonly silence: string;
    };

/** Asks one question; never rejects. */
export type Asker = (question: Question) => Promise<Heard>;

/** One question of the doctor; always with EDNS. */
export interface Question {
  readonly server: SocketAddress;
  readonly name: string;
  readonly type: string;
  readonly recurse: boolean;
  /** Ask for an answer that is not validated (CD, RFC 4035 §3.2.2). Default false. */
  readonly checkingDisabled?: boolean;
  readonly transport?: "udp" | "tcp";
}

/** One address of one nameserver, and what it said. */
export interface NameserverFacts {
  /** Absolute, without the trailing dot. */
  readonly name: string;
  readonly server: SocketAddress;
  /** Whether the parent gives this address. */
  readonly inParent: boolean;
  /** Whether the configuration gives this address. */
  readonly inConfig: boolean;
  readonly soa: Heard;
  readonly ns: Heard;
  readonly soaOverTcp: Heard;
  /** Addresses of each endpoint, by fqdn: A, or AAAA where it has no others. */
  readonly endpoints: ReadonlyMap<string, Heard>;
}

/** What the parent zone says of our zone. */
export interface DelegationFacts {
  /** Servers of the parent that were asked. Empty when none was found. */
  readonly parents: readonly { readonly server: SocketAddress; readonly heard: Heard }[];
  /** Why no server was found, if none was. */
  readonly problem?: string;
  /** The user named the servers; else they were looked for. Default false. */
  readonly areNamed?: boolean;
}

/** The servers under `transfer.to` of a zone, and what they said. */
export interface SecondaryFacts {
  readonly secondaries: readonly { readonly server: SocketAddress; readonly soa: Heard }[];
  /** The latest serial that any server gave; absent = none gave one. */
  readonly serial?: number;
}

/** A source of an endpoint's targets. */
export interface SourceFacts {
  /** Its name, such as `kubernetes:nodes`. */
  readonly source: string;
  /** What it says now, asked from here. */
  readonly now: Inspection;
  /** What the server that runs on this machine knows of it; absent = none could be asked. */
  readonly server?: {
    readonly state: "starting" | "ok" | "empty" | "failing";
    /** Milliseconds since 1970; absent = not since the start. */
    readonly heardAtMs?: number;
    readonly problem?: string;
  };
}

/** A resolver as clients of this machine, or of another, use it. */
export interface ResolverFacts {
  readonly server: SocketAddress;
  /** `--resolver`, or the file that names it. */
  readonly source: string;
  /** This machine's clients use it: it stands in resolv.conf. */
  readonly isOwn: boolean;
  readonly endpoints: ReadonlyMap<string, ResolvedFacts>;
  readonly overTcp: Heard;
  /** The zone's SOA, asked for where an endpoint has no address there. */
  readonly soa?: Heard;
  /** A name of the zone that does not exist, asked for twice. */
  readonly negatives: readonly Heard[];
}

/** One endpoint as a resolver answers it, over time. */
export interface ResolvedFacts {
  /** One and then another at once. */
  readonly first: readonly Heard[];
  /** One and then another a moment later, when the first answer's TTL has run out; absent if that would take too long. */
  readonly later?: readonly Heard[];
  /** A target's own name, which nobody else asks for: a TTL that no cache has counted down. */
  readonly uncached?: Heard;
  /** Addresses of the other family, if it has two. */
  readonly otherFamily: readonly Heard[];
  /** Asked once more without validation, after SERVFAIL. */
  readonly unvalidated?: Heard;
}

/** The certificate that a target presented, whoever signed it. */
export interface CertificateFacts {
  /** Its alternative names in Node's spelling: `DNS:api.example.com, IP Address:192.0.2.1`. */
  readonly altNames: string;
  readonly dnsNames: readonly string[];
  /** IP addresses in its subject alternative names, in canonical text form (RFC 5952). */
  readonly addresses: readonly string[];
  readonly issuer: string;
  /** SHA-256, hexadecimal. */
  readonly fingerprint: string;
  /** Milliseconds since 1970. */
  readonly validToMs: number;
}

/** One address of one target. */
export interface TargetFacts {
  readonly target: string;
  readonly address: string;
  readonly port: number;
  readonly result: ProbeResult;
  /** Absent without TLS. */
  readonly certificate?: CertificateFacts;
}

/** A kube-apiserver's static Pod manifest. */
export interface ManifestFacts {
  readonly file: string;
  /** Milliseconds; 0 when the flag is absent, which is kube-apiserver's default. */
  readonly shutdownDelayMs: number;
  /** As written; absent when the flag is. */
  readonly shutdownDelay?: string;
  readonly advertiseAddress?: string;
  readonly anonymousAuth: boolean;
  /** Seconds; the kubelet's default is 30. */
  readonly graceSeconds: number;
}

/** A file that tells a client where the apiserver is: a kubeconfig, or configuration of kube-proxy or Cilium. */
export interface ClientFileFacts {
  readonly file: string;
  /** At least one. */
  readonly servers: readonly NamedServer[];
}

/** One place in a file that names an apiserver. */
export interface NamedServer {
  /** Where in the file, e.g. `the server of cluster kubernetes`. */
  readonly place: string;
  /** As written; a host and a port that stand apart are put together to a URL. */
  readonly server: string;
  /** How it is written: as a URL, as Cilium's Helm values, or as environment variables. */
  readonly form: "url" | "helm" | "variables";
}

/** How this machine resolves names, beside its resolvers. */
export interface MachineFacts {
  readonly resolvConf: ResolvConfFacts;
  readonly hostsFile: string;
  readonly endpoints: ReadonlyMap<string, MachineLookup>;
}

/** What `resolv.conf` names. */
export interface ResolvConfFacts {
  readonly file: string;
  /** Addresses that clients ask, in order; link-local ones with their interface (`fe80::1%eth0`). */
  readonly nameservers: readonly string[];
  /** Addresses beyond the third one, which no client asks. */
  readonly surplus: readonly string[];
}

/** One endpoint as this machine resolves it. */
export interface MachineLookup {
  /** Lines of the hosts file with the name. */
  readonly hosts: readonly HostsLine[];
  /** What `getaddrinfo` says; absent if it was not asked. */
  readonly lookup?: Lookup;
}

/** A line of a hosts file. */
export interface HostsLine {
  /** From 1. */
  readonly line: number;
  readonly text: string;
  readonly address: string;
}

/** What the machine's own resolving says of a name: its addresses, or why there are none. */
export type Lookup = { readonly addresses: readonly string[] } | { readonly problem: string };

/** A file that was given and could not be made sense of. */
export interface UnreadableFile {
  readonly file: string;
  readonly problem: string;
}
