import type { ZoneConfig } from "../config/config.js";
import type { RunProbe } from "../health/probes/probe.js";
import type { Clock } from "../lib/clock.js";
import type { SocketAddress } from "../lib/listening.js";
import type { LookUpAsMachine } from "./collect-machine.js";
import type { ResolverPlace } from "./collect-resolver.js";
import type { LocalAddress } from "./dial-order.js";
import type { Asker, ResolvConfFacts, SourceFacts } from "./facts.js";

/** What is looked at. */
export interface DoctorInput {
  /** Zones with the endpoints to look at; at least one. */
  readonly zones: readonly ZoneConfig[];
  /** Resolvers, and where each was named. */
  readonly resolvers: readonly ResolverPlace[];
  readonly machine: {
    readonly resolvConf: ResolvConfFacts;
    readonly hostsFile: string;
    /** Whether the machine's own resolving counts: no other resolver was named. */
    readonly isCompared: boolean;
  };
  /** Servers of the parent zone; empty = look for them through the resolvers. */
  readonly parents: readonly SocketAddress[];
  /** Where livezone listens, if it runs on this machine: asked for the serial that secondaries should have. */
  readonly primaries: readonly SocketAddress[];
  /** Port of the zone's nameservers: 53, unless livezone is tried out on another one. */
  readonly port: number;
  /** Port of the parent's servers where they are looked for: 53, except in tests. */
  readonly parentPort: number;
  /** Manifests of kube-apiservers. */
  readonly manifests: readonly string[];
  /** Kubeconfigs, and files of kube-proxy and Cilium. */
  readonly kubeconfigs: readonly string[];
}

/** What the doctor looks with. */
export interface DoctorSeams {
  readonly ask: Asker;
  readonly clock: Clock;
  readonly probe: RunProbe;
  readonly lookUpAsMachine: LookUpAsMachine;
  readonly localAddresses: readonly LocalAddress[];
  /** Reads every source of targets of a zone once, by fqdn of the endpoint. Changes nothing. */
  readSources(zone: ZoneConfig): Promise<ReadonlyMap<string, readonly SourceFacts[]>>;
  /** A DNS label that nobody has asked for. */
  randomLabel(): string;
}
