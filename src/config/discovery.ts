import type { SocketAddress } from "../lib/listening.js";
import type { Position } from "./position.js";

/** Where targets are found at run time, and how long they are kept. */
export interface DiscoverConfig {
  /** In the order written. At least one. */
  readonly sources: readonly DiscoverSourceConfig[];
  /**
   * Milliseconds that a target stays once its source has dropped it and it is down, 60 000 to 2 592 000 000 (30 days).
   * Default 3 600 000.
   */
  readonly forgetAfterMs: number;
  /** Targets of the endpoint, those of the file included, 1 to 1 000. Default 64. */
  readonly maxTargets: number;
}

/** One source of targets. */
export type DiscoverSourceConfig = KubernetesSourceConfig | DnsSourceConfig | FileSourceConfig;

interface SourceName {
  /** Unique in the endpoint, as messages and metrics call it: `kubernetes:nodes`, `dns:cp.example.com`, `file:cp.json`. */
  readonly name: string;
  readonly position: Position;
}

export interface KubernetesSourceConfig extends SourceName {
  readonly type: "kubernetes";
  /** Absolute; absent = the service account of the Pod that livezone runs in. */
  readonly kubeconfig?: string;
  /** What is read. Default `nodes`. */
  readonly resource: "nodes" | "pods" | "endpointslices";
  /** Label selector; absent = that of the resource. */
  readonly selector?: string;
  /** Which address of a Node. Default `InternalIP`. */
  readonly addressType: "InternalIP" | "ExternalIP";
  /** A Node that is unschedulable counts as drained. Default false. */
  readonly honorCordon: boolean;
}

export interface DnsSourceConfig extends SourceName {
  readonly type: "dns";
  /** Absolute, lower case, without the trailing dot. */
  readonly query: string;
  readonly server: SocketAddress;
  /** Milliseconds, 1 000 to 86 400 000. Default 30 000. */
  readonly intervalMs: number;
  /** What is asked for. Default A and AAAA; SRV for a name that begins with `_`. */
  readonly records: readonly ("A" | "AAAA" | "SRV")[];
}

export interface FileSourceConfig extends SourceName {
  readonly type: "file";
  /** Absolute. */
  readonly path: string;
}
