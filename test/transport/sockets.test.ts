import { closeSync, fstatSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { formatAddress } from "../../src/lib/listening.js";
import { type BatchTransport, loadBatch } from "../../src/transport/batch/load.js";
import {
  type BindSettings,
  type BoundAddress,
  bindAddress,
  closeSockets,
  type Inherited,
  inheritedSockets,
  tcpSocket,
} from "../../src/transport/sockets.js";
import { afterThisTest } from "../support/cleanup.js";
import { freePort } from "../support/ports.js";

const loaded = loadBatch();
const native = describe.skipIf(!loaded.transport);

function transport(): BatchTransport {
  if (!loaded.transport) throw new Error(loaded.reason);
  return loaded.transport;
}

const NOTHING_INHERITED: Inherited = new Map();

/** Binds for the time of the test. */
function bind(port: number, threads: number, settings: BindSettings = {}, inherited = NOTHING_INHERITED): BoundAddress {
  const bound = bindAddress(transport(), { address: "127.0.0.1", port }, threads, settings, inherited);
  afterThisTest(() => closeSockets([bound]));
  return bound;
}

/** Whether a descriptor is open. */
function isOpen(fd: number): boolean {
  try {
    fstatSync(fd);
    return true;
  } catch {
    return false;
  }
}

native("binding an address", () => {
  test("gives each thread a socket of its own, all on one port that the system chose", () => {
    const { address, udp } = bind(0, 3);
    expect(address.port).toBeGreaterThan(0);
    expect(new Set(udp.map(({ fd }) => fd)).size).toBe(3);
    for (const { fd } of udp) expect(transport().describe(fd)).toMatchObject({ kind: "udp", port: address.port });
  });

  test("is refused where another server is, unless it is going to be replaced", async () => {
    const port = await freePort();
    bind(port, 1);
    expect(() => bind(port, 1)).toThrow(expect.objectContaining({ code: "LISTEN_ADDRESS_IN_USE" }));
    expect(bind(port, 2, { isShared: true }).udp).toHaveLength(2);
  });

  test("is refused where only TCP is taken: a client that falls back to it would meet somebody else", async () => {
    const port = await freePort();
    const other = transport().bind({ address: "127.0.0.1", port, kind: "tcp" });
    afterThisTest(() => closeSync(other.fd));
    expect(() => bind(port, 1)).toThrow(/cannot listen on TCP 127\.0\.0\.1:\d+: the port is in use/);
  });

  test("where the machine does not have the address takes freeBind", () => {
    const away = { address: "192.0.2.200", port: 0 };
    const code = "LISTEN_ADDRESS_UNAVAILABLE";
    expect(() => bindAddress(transport(), away, 1, {}, NOTHING_INHERITED)).toThrow(expect.objectContaining({ code }));
    const bound = bindAddress(transport(), away, 1, { freeBind: true }, NOTHING_INHERITED);
    afterThisTest(() => closeSockets([bound]));
    const tcp = tcpSocket(transport(), bound);
    afterThisTest(() => closeSync(tcp));
    expect(transport().describe(tcp)).toMatchObject({ kind: "tcp", address: "192.0.2.200", port: bound.address.port });
  });
});

native("sockets of socket activation", () => {
  const batch = {
    describe: (fd: number) =>
      [
        { fd, kind: "udp", family: 4, address: "192.0.2.1", port: 53, receiveBufferBytes: 0 },
        { fd, kind: "tcp", family: 4, address: "192.0.2.1", port: 53, receiveBufferBytes: 0 },
        { fd, kind: "other", family: 0, address: "", port: 0, receiveBufferBytes: 0 },
        { fd, kind: "udp", family: 6, address: "2001:db8::1", port: 53, receiveBufferBytes: 0 },
      ][fd - 3],
  } as unknown as BatchTransport;

  test.each([
    { name: "all of them", env: { LISTEN_PID: "7", LISTEN_FDS: "4" }, found: ["192.0.2.1:53", "[2001:db8::1]:53"] },
    { name: "as many as there are", env: { LISTEN_PID: "7", LISTEN_FDS: "1" }, found: ["192.0.2.1:53"] },
    { name: "none for another process", env: { LISTEN_PID: "8", LISTEN_FDS: "4" }, found: [] },
    { name: "none without a number", env: { LISTEN_PID: "7" }, found: [] },
    { name: "none where nothing was passed", env: {}, found: [] },
  ])("are $name", ({ env, found }) => {
    const inherited = inheritedSockets(batch, env, 7);
    expect([...inherited.keys()]).toEqual(found);
    if (found.length === 2) {
      expect([...inherited.values()]).toEqual([{ udp: 3, tcp: 4 }, { udp: 6 }]);
    }
  });

  test("are read by all threads, listened on as a copy, and never closed", () => {
    const own = (["udp", "tcp"] as const).map((kind) => transport().bind({ address: "127.0.0.1", port: 0, kind }));
    const [udp, tcp] = own.map(({ fd }) => fd) as [number, number];
    afterThisTest(() => own.forEach(({ fd }) => void closeSync(fd)));
    const address = { address: "127.0.0.1", port: 5353 };
    const inherited: Inherited = new Map([[formatAddress(address), { udp, tcp }]]);
    const bound = bindAddress(transport(), address, 2, {}, inherited);
    expect(bound.udp.map(({ fd }) => fd)).toEqual([udp, udp]);
    const copy = tcpSocket(transport(), bound);
    expect(copy).not.toBe(tcp);
    closeSync(copy);
    closeSockets([bound]);
    expect([isOpen(udp), isOpen(tcp)]).toEqual([true, true]);
  });
});

native("closing", () => {
  test("frees the port for others", async () => {
    const port = await freePort();
    const first = bindAddress(transport(), { address: "127.0.0.1", port }, 2, {}, NOTHING_INHERITED);
    closeSockets([first]);
    expect(first.udp.map(({ fd }) => isOpen(fd))).toEqual([false, false]);
    expect(bind(port, 1).address.port).toBe(port);
  });
});
