import type { TableMessage } from "../answers/table-messages.js";
import type { SocketAddress } from "../lib/listening.js";
import type { QueryDefect } from "../query/error-boundary.js";
import type { PolicySettings } from "../query/policy.js";
import type { TransferRequest } from "../transfer/request.js";
import type { TcpLimits } from "./tcp-connection.js";

/** What a thread is started with. */
export interface WorkerSettings {
  /** From 0: UDP threads, then that of TCP. */
  readonly index: number;
  readonly role: "udp" | "tcp";
  /** Of its query counters. */
  readonly counters: SharedArrayBuffer;
  /** Rung when there is a message for a thread that blocks in the native part; absent: this one does not. */
  readonly alarm?: number;
}

/** A listen address as a thread is to serve it. */
export interface SocketOrder {
  /** What it is known by: the address as configured. */
  readonly key: string;
  readonly address: SocketAddress;
  /** For UDP: a bound socket, which stays the main thread's, and where to count; absent: the thread opens one itself. */
  readonly udp?: { readonly fd: number; readonly counters: BigUint64Array<SharedArrayBuffer> };
  /** For TCP: a listening socket, which becomes the thread's; absent: the thread has one, or opens one itself. */
  readonly tcp?: { readonly fd: number };
}

/** Whom a thread answers, how often, and for how long. */
export interface ThreadPolicySettings {
  readonly policy: PolicySettings;
  readonly tcp: TcpLimits;
}

/** What the main thread says to one that answers. */
export type ToWorker =
  /** Whole zones; answered by `zones-taken`. */
  | { readonly kind: "zones"; readonly messages: readonly TableMessage[] }
  | { readonly kind: "table"; readonly message: TableMessage }
  | { readonly kind: "ready" }
  /** Whether no query is answered, although there are answers: siblings have better ones. */
  | { readonly kind: "silent"; readonly isSilent: boolean }
  /** Whom to answer, and how, from now on. */
  | { readonly kind: "policy"; readonly policy: ThreadPolicySettings }
  /** Whether answers are those of before, since health cannot be told. */
  | { readonly kind: "stale"; readonly isStale: boolean }
  /** Everything to listen on from now on; answered by `listening` or `listen-failed` with the same number. */
  | { readonly kind: "listen"; readonly number: number; readonly sockets: readonly SocketOrder[] }
  /** The next message of a transfer; without one the connection is to be cut. */
  | { readonly kind: "transfer-part"; readonly number: number; readonly message?: Uint8Array; readonly isLast: boolean }
  /** Answered by the end of the thread. */
  | { readonly kind: "stop"; readonly graceMs: number };

/** What such a thread says. */
export type FromWorker =
  | { readonly kind: "defect"; readonly defect: QueryDefect }
  | { readonly kind: "zones-taken" }
  /** A client may have a transfer, which is known by this number; answered by `transfer-part`. */
  | { readonly kind: "transfer"; readonly number: number; readonly request: TransferRequest }
  /** The message before is on its way: the next one can be sent. */
  | { readonly kind: "transfer-more"; readonly number: number }
  | { readonly kind: "transfer-end"; readonly number: number; readonly isComplete: boolean }
  | { readonly kind: "listening"; readonly number: number; readonly addresses: readonly SocketAddress[] }
  | { readonly kind: "listen-failed"; readonly number: number; readonly message: string; readonly code: string };
