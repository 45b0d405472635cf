import { closeSync } from "node:fs";
import { formatAddress, listenError, type SocketAddress } from "../lib/listening.js";
import { createCounters } from "./batch/buffers.js";
import type { BatchTransport, BoundSocket } from "./batch/load.js";

/** A UDP socket as a thread is to serve it; the descriptor stays the main thread's. */
export interface UdpSocket {
  readonly fd: number;
  readonly counters: BigUint64Array<SharedArrayBuffer>;
}

/** A listen address and its sockets. */
export interface BoundAddress {
  /** The real port. */
  readonly address: SocketAddress;
  /** One for each thread; empty without the native part, where the thread opens its own. */
  readonly udp: readonly UdpSocket[];
  /** A listening TCP socket that was inherited; without one, one is bound when a thread needs it. */
  readonly inheritedTcp?: number;
  /** The machine may not have the address. */
  readonly freeBind?: boolean;
  /** The UDP sockets were inherited: they are never closed, since the address may be asked for again. */
  readonly isInherited?: boolean;
}

/** Sockets that whoever started the process has opened for it, by address. */
export type Inherited = ReadonlyMap<string, { readonly udp?: number; readonly tcp?: number }>;

/** The first descriptor that socket activation passes (sd_listen_fds(3)). */
const FIRST_INHERITED_FD = 3;

/**
 * The sockets of systemd's socket activation (sd_listen_fds(3)), which outlive this process, so that a restart loses
 * no query: `LISTEN_FDS` of them from descriptor 3 on, if `LISTEN_PID` is this process.
 */
export function inheritedSockets(
  batch: BatchTransport,
  env: Readonly<Record<string, string | undefined>>,
  pid: number,
): Inherited {
  const found = new Map<string, { udp?: number; tcp?: number }>();
  if (env.LISTEN_PID !== String(pid)) return found;
  const count = Number.parseInt(env.LISTEN_FDS ?? "0", 10);
  for (let fd = FIRST_INHERITED_FD; fd < FIRST_INHERITED_FD + count; fd += 1) {
    const { kind, address, port } = batch.describe(fd);
    if (kind === "other") continue;
    const key = formatAddress({ address, port });
    found.set(key, { ...found.get(key), [kind]: fd });
  }
  return found;
}

/** How an address is bound. */
export interface BindSettings {
  /** Beside another server of the same user, which is going to leave. Default false. */
  readonly isShared?: boolean;
  /** Also where this machine does not have the address yet (`IP_FREEBIND`). Default false. */
  readonly freeBind?: boolean;
}

/**
 * Binds one UDP socket for each thread. They share the address by `SO_REUSEPORT`, which would also let a second server
 * on silently; so the address is first bound alone.
 *
 * A successor, which joins the server that it is going to replace (`isShared`), leaves that out.
 *
 * @throws UserError
 */
export function bindAddress(
  batch: BatchTransport,
  address: SocketAddress,
  threads: number,
  { isShared = false, freeBind = false }: BindSettings,
  inherited: Inherited,
): BoundAddress {
  const given = inherited.get(formatAddress(address));
  if (given?.udp !== undefined) {
    // All threads read the one queue: who is free takes the next batch.
    const counters = Array.from({ length: threads }, createCounters);
    const udp = counters.map((each) => ({ fd: given.udp as number, counters: each }));
    return { address, udp, isInherited: true, ...(given.tcp === undefined ? {} : { inheritedTcp: given.tcp }) };
  }
  if (!isShared && address.port !== 0) {
    for (const kind of ["udp", "tcp"] as const)
      closeSync(bindOne(batch, { address, kind, reusePort: false, freeBind }).fd);
  }
  const udp: UdpSocket[] = [];
  let at = address;
  try {
    for (let i = 0; i < threads; i += 1) {
      const socket = bindOne(batch, { address: at, kind: "udp", reusePort: true, freeBind });
      at = { address: address.address, port: socket.port };
      udp.push({ fd: socket.fd, counters: createCounters() });
    }
    return { address: at, udp, freeBind };
  } catch (error) {
    closeSockets([{ address, udp }]);
    throw error;
  }
}

/** A listening TCP socket for an address; it becomes the property of whoever listens on it. @throws UserError */
export function tcpSocket(batch: BatchTransport, { address, inheritedTcp, freeBind = false }: BoundAddress): number {
  if (inheritedTcp !== undefined) return batch.duplicate(inheritedTcp);
  return bindOne(batch, { address, kind: "tcp", reusePort: true, freeBind }).fd;
}

interface BindOrder {
  readonly address: SocketAddress;
  readonly kind: "udp" | "tcp";
  readonly reusePort: boolean;
  readonly freeBind: boolean;
}

function bindOne(batch: BatchTransport, { address, kind, reusePort, freeBind }: BindOrder): BoundSocket {
  try {
    return batch.bind({ ...address, kind, reusePort, freeBind });
  } catch (error) {
    throw listenError(kind.toUpperCase(), address, error);
  }
}

/** Closes the UDP sockets of addresses that are no longer served. */
export function closeSockets(all: Iterable<BoundAddress>): void {
  for (const { udp, isInherited } of all) {
    if (isInherited !== true) for (const { fd } of udp) closeSync(fd);
  }
}
