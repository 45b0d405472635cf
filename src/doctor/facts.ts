import type { Reply } from "../client/reply.js";
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

/** A resolver as clients of this machine, or of another, use it. */
export interface ResolverFacts {
  readonly server: SocketAddress;
  /** `--resolver`, or the file that names it. */
  readonly source: string;
  readonly endpoints: ReadonlyMap<string, ResolvedFacts>;
  readonly overTcp: Heard;
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
}

/** The certificate that a target presented, whoever signed it. */
export interface CertificateFacts {
  readonly dnsNames: readonly string[];
  /** IP addresses in its subject alternative names. */
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

/** A kubeconfig: `admin.conf`, `kubelet.conf`, … */
export interface KubeconfigFacts {
  readonly file: string;
  readonly servers: readonly { readonly cluster: string; readonly server: string }[];
}

/** A file that was given and could not be made sense of. */
export interface UnreadableFile {
  readonly file: string;
  readonly problem: string;
}
