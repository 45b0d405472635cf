import type { CompiledZone } from "../answers/answer.js";
import type { PackedNodes } from "../answers/codec.js";
import type { SocketAddress } from "../lib/listening.js";
import type { QueryDefect } from "../query/error-boundary.js";
import type { PolicySettings } from "../query/policy.js";
import type { Name } from "../wire/name.js";
import type { TcpLimits } from "./tcp-connection.js";

/** What a thread is started with. */
export interface WorkerSettings {
  /** From 0; the first one also serves TCP. */
  readonly index: number;
  /** Of its query counters. */
  readonly counters: SharedArrayBuffer;
}

/** A listen address as a thread is to serve it. */
export interface SocketOrder {
  /** What it is known by: the address as configured. */
  readonly key: string;
  readonly address: SocketAddress;
  /** A bound UDP socket, which stays the main thread's, and where to count; absent: the thread opens one itself. */
  readonly udp?: { readonly fd: number; readonly counters: BigUint64Array<SharedArrayBuffer> };
  /** A listening TCP socket, which becomes the thread's; absent: as for UDP, if `servesTcp`. */
  readonly tcp?: { readonly fd: number };
  readonly servesTcp: boolean;
}

/** Whom a thread answers, how often, and for how long. */
export interface ServiceTerms {
  readonly policy: PolicySettings;
  readonly tcp: TcpLimits;
}

/** What the main thread says to one that answers. */
export type ToWorker =
  /** Begins a new table; `zones` follow until `commit`, and nothing is seen of them before. */
  | { readonly kind: "begin" }
  | { readonly kind: "zones"; readonly zones: readonly CompiledZone[] }
  | { readonly kind: "commit" }
  | { readonly kind: "update"; readonly zone: Name; readonly serial: number; readonly nodes: PackedNodes }
  | { readonly kind: "ready" }
  /** Whom to answer, and how, from now on. */
  | { readonly kind: "serve"; readonly terms: ServiceTerms }
  /** Whether answers are those of before, since health cannot be told. */
  | { readonly kind: "stale"; readonly isStale: boolean }
  /** Everything to listen on from now on; answered by `listening` or `listen-failed` with the same number. */
  | { readonly kind: "listen"; readonly number: number; readonly sockets: readonly SocketOrder[] }
  /** Answered by the end of the thread. */
  | { readonly kind: "stop"; readonly graceMs: number };

/** What such a thread says. */
export type FromWorker =
  | { readonly kind: "defect"; readonly defect: QueryDefect }
  | { readonly kind: "listening"; readonly number: number; readonly addresses: readonly SocketAddress[] }
  | { readonly kind: "listen-failed"; readonly number: number; readonly message: string; readonly code: string };
