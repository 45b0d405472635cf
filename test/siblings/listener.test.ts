import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import { describe, expect, test } from "vitest";
import { Budget } from "../../src/siblings/budget.js";
import { LineReader } from "../../src/siblings/line-reader.js";
import { MAX_LINE_OCTETS, pack } from "../../src/siblings/messages.js";
import { clientSettings, preSharedKey } from "../../src/siblings/pre-shared-key.js";
import { afterThisTest } from "../support/cleanup.js";
import { seededRandom } from "../support/random.js";
import { waitUntil } from "../support/wait.js";
import { BEAT } from "./beat.js";
import { type TestSibling, testSiblings, UP } from "./two-servers.js";

const KEY = Uint8Array.from(Buffer.from("a".repeat(64), "hex"));

/** A server whose only sibling, ns2, is played by the test. */
async function listening(): Promise<TestSibling> {
  const [ns1] = (await testSiblings([["a".repeat(64)], ["a".repeat(64)]])) as [TestSibling];
  await ns1.start();
  return ns1;
}

/** Connects with a secret, and says these things. */
async function speak({ port }: TestSibling, ...messages: readonly (object | string)[]): Promise<TLSSocket> {
  const socket = connect({ host: "127.0.0.1", port, ...clientSettings(preSharedKey(KEY)) });
  afterThisTest(() => void socket.destroy());
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  for (const message of messages) socket.write(typeof message === "string" ? message : `${JSON.stringify(message)}\n`);
  return socket;
}

const HELLO = { t: "hello", version: 1, name: "ns2", boot: "0123456789abcdef" };

function isEnded(socket: Socket): Promise<unknown> {
  return socket.destroyed ? Promise.resolve() : once(socket, "close");
}

describe("a listener for siblings", () => {
  test.each([
    ["what is no JSON", "hello\n"],
    ["a message of a known type that makes no sense", { t: "beat" }],
    ["something before it has named itself", { t: "release", endpoint: "a", target: "b" }],
    ["a name that is no sibling", { ...HELLO, name: "ns9" }],
    ["a line that is too long", "x".repeat(MAX_LINE_OCTETS + 1)],
  ])("ends the connection of who says %s", async (_, message) => {
    const ns1 = await listening();
    const socket = await speak(ns1, message);
    socket.resume();
    await isEnded(socket);
    expect(ns1.siblings.peers()[0]?.condition).toBe("unheard");
  });

  test("ignores what a newer version may say", async () => {
    const ns1 = await listening();
    const socket = await speak(ns1, HELLO, { t: "news", of: 1 }, { ...BEAT, more: true });
    await waitUntil(() => ns1.siblings.fresh().length === 1);
    expect(socket.destroyed).toBe(false);
  });

  test("tells nothing to who has no secret, cuts the handshake short, or replays one", async () => {
    const ns1 = await listening();
    const hello = await firstFlight();
    for (const octets of [
      Buffer.from("GET / HTTP/1.1\r\n\r\n"),
      randomBytes(512),
      hello,
      hello.subarray(0, 100),
      hello,
    ]) {
      const socket = connectTcp(ns1.port, "127.0.0.1");
      afterThisTest(() => void socket.destroy());
      socket.on("error", () => {});
      const got: Buffer[] = [];
      socket.on("data", (chunk) => got.push(chunk));
      socket.write(octets);
      await waitUntil(() => socket.destroyed || octets.length === 100 || got.length > 0);
      // A server that knows the secret replies to a whole first flight, encrypted; nothing follows on that.
      expect(Buffer.concat(got).toString("latin1")).not.toContain("ns1");
    }
    expect(ns1.siblings.peers()[0]?.condition).toBe("unheard");
  });

  test("lets in nobody by the ticket of a session before: it tells nothing of the secret", async () => {
    const ns1 = await listening();
    const first = await speak(ns1, HELLO);
    const [session] = (await once(first, "session")) as [Buffer];
    first.destroy();
    const { pskCallback: _, ...settings } = clientSettings(preSharedKey(KEY));
    const again = connect({ host: "127.0.0.1", port: ns1.port, session, ...settings });
    afterThisTest(() => void again.destroy());
    const got: Buffer[] = [];
    again.on("error", () => {});
    again.on("data", (chunk: Buffer) => got.push(chunk));
    again.write(`${JSON.stringify(HELLO)}\n`);
    await isEnded(again);
    expect(Buffer.concat(got).toString()).toBe("");
  });

  test("closes connections of strangers that come too fast, and still hears a sibling", async () => {
    const ns1 = await listening();
    // From an address that no sibling has.
    const strangers = Array.from({ length: 60 }, () =>
      connectTcp({ port: ns1.port, host: "127.0.0.1", localAddress: "127.9.9.9" }),
    );
    for (const socket of strangers) {
      socket.on("error", () => {});
      afterThisTest(() => void socket.destroy());
    }
    await waitUntil(() => strangers.filter(({ destroyed }) => destroyed).length >= 40);
    const socket = await speak(ns1, HELLO);
    const [chunk] = (await once(socket, "data")) as [Buffer];
    expect(JSON.parse(String(chunk))).toMatchObject({ t: "welcome", name: "ns1" });
  });

  test("closes connections from the address of a sibling that come too fast, before anything is read", async () => {
    const ns1 = await listening();
    const all = Array.from({ length: 200 }, () => connectTcp({ port: ns1.port, host: "127.0.0.1" }));
    for (const socket of all) {
      socket.on("error", () => {});
      afterThisTest(() => void socket.destroy());
    }
    await waitUntil(() => all.filter(({ destroyed }) => destroyed).length >= 120);
  });

  test("a sibling that sends more than it may is not read faster for connecting again", async () => {
    const ns1 = await listening();
    const burst = `${JSON.stringify({ t: "release", endpoint: "e", target: "cp1" })}\n`.repeat(1_500);
    const first = await speak(ns1, HELLO, burst);
    first.resume();
    await waitUntil(() => ns1.siblings.peers()[0]?.heard !== undefined);
    first.destroy();
    // The beat stands behind more than a second's worth of lines.
    await waitUntil(() => ns1.siblings.peers()[0]?.heard === undefined);
    const again = await speak(ns1, HELLO, burst, BEAT);
    again.resume();
    await waitUntil(() => ns1.siblings.peers()[0]?.heard !== undefined);
    expect(ns1.siblings.fresh()).toEqual([]);
  });

  test("thousands of messages of nonsense and of sense, with the right secret, change nothing", async () => {
    const seed = 20_261_203;
    const random = seededRandom(seed);
    const ns1 = await listening();
    const kinds = [
      () => ({ t: "endpoints", endpoints: [{ ...UP, endpoint: `e${random()}` }], gone: [] }),
      () => ({ t: "endpoints", endpoints: [{ ...UP, up: [], not: [["192.0.2.1", "down"]] }], gone: [`e${random()}`] }),
      () => ({ t: "release", endpoint: `e${random()}`, target: "cp1" }),
      () => ({ t: "zones", zones: [{ zone: "z", digest: "d", serial: random() }] }),
      () => ({ t: `x${random()}` }),
    ];
    const socket = await speak(ns1, HELLO);
    socket.resume();
    for (let sent = 0; sent < 2_000 && !socket.destroyed; sent += 1) {
      const message = kinds[Math.floor(random() * kinds.length)]?.();
      if (!socket.write(`${JSON.stringify(message)}\n`)) break;
    }
    await waitUntil(() => ns1.siblings.peers()[0]?.heard !== undefined);
    await waitUntil(() => (ns1.siblings.peers()[0]?.heard?.endpoints.size ?? 0) > 0);
    expect([...(ns1.siblings.peers()[0]?.heard?.endpoints.keys() ?? [])], `seed ${seed}`).toEqual([UP.endpoint]);
  });
});

/** The first octets that a client with the secret sends. */
async function firstFlight(): Promise<Buffer> {
  const { createServer } = await import("node:net");
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const client = connect({ host: "127.0.0.1", port, ...clientSettings(preSharedKey(KEY)) });
  client.on("error", () => {});
  const [socket] = (await once(server, "connection")) as [Socket];
  socket.on("error", () => {});
  const [octets] = (await once(socket, "data")) as [Buffer];
  client.destroy();
  socket.destroy();
  server.close();
  return octets;
}

describe("lines", () => {
  test("are put together however they come", () => {
    const reader = new LineReader();
    expect(reader.read(Buffer.from("ab"))).toEqual([]);
    expect(reader.read(Buffer.from("c\nd\n\ne"))).toEqual(["abc", "d", ""]);
    expect(reader.read(Buffer.from("\n"))).toEqual(["e"]);
  });

  test("end where they are too long, in one piece or in many", () => {
    expect(new LineReader().read(Buffer.alloc(MAX_LINE_OCTETS + 1, 97))).toBe("too-long");
    const reader = new LineReader();
    expect(reader.read(Buffer.alloc(MAX_LINE_OCTETS, 97))).toEqual([]);
    expect(reader.read(Buffer.from("a\n"))).toBe("too-long");
  });

  test("are filled with items, none of which is lost", () => {
    const items = Array.from({ length: 5_000 }, (_, index) => `${index}`.repeat(1 + (index % 40)));
    const lines = pack(items);
    expect(lines.flat()).toEqual(items);
    for (const line of lines) expect(Buffer.byteLength(JSON.stringify(line))).toBeLessThan(MAX_LINE_OCTETS);
  });
});

test("a budget is spent, and comes back with time", () => {
  const budget = new Budget({ perSecond: 10, burst: 5 }, 0);
  expect(budget.spend(5, 0)).toBe(0);
  expect(budget.spend(1, 0)).toBe(100);
  expect(budget.spend(0, 100)).toBe(0);
  expect(budget.spend(6, 10_000)).toBe(100);
});
