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

/**
 * Binds one UDP socket for each thread. They share the address by `SO_REUSEPORT`, which would also let a second server
 * on silently; so the address is first bound alone.
 *
 * @param isShared leaves that out: a successor joins the server that it is going to replace
 * @throws UserError
 */
export function bindAddress(
  batch: BatchTransport,
  address: SocketAddress,
  threads: number,
  isShared: boolean,
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
    for (const kind of ["udp", "tcp"] as const) closeSync(bindOne(batch, address, kind, false).fd);
  }
  const udp: UdpSocket[] = [];
  let at = address;
  try {
    for (let i = 0; i < threads; i += 1) {
      const socket = bindOne(batch, at, "udp", true);
      at = { address: address.address, port: socket.port };
      udp.push({ fd: socket.fd, counters: createCounters() });
    }
    return { address: at, udp };
  } catch (error) {
    closeSockets([{ address, udp }]);
    throw error;
  }
}

/** A listening TCP socket for an address; it becomes the property of whoever listens on it. @throws UserError */
export function tcpSocket(batch: BatchTransport, { address, inheritedTcp }: BoundAddress): number {
  return inheritedTcp === undefined ? bindOne(batch, address, "tcp", true).fd : batch.duplicate(inheritedTcp);
}

function bindOne(batch: BatchTransport, at: SocketAddress, kind: "udp" | "tcp", reusePort: boolean): BoundSocket {
  try {
    return batch.bind({ ...at, kind, reusePort });
  } catch (error) {
    throw listenError(kind.toUpperCase(), at, error);
  }
}

/** Closes the UDP sockets of addresses that are no longer served. */
export function closeSockets(all: Iterable<BoundAddress>): void {
  for (const { udp, isInherited } of all) {
    if (isInherited !== true) for (const { fd } of udp) closeSync(fd);
  }
}
