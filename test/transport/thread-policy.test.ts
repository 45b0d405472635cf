import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { afterThisTest } from "../support/cleanup.js";
import { ask } from "../support/dns-client.js";
import { type DnsMessage, encodeQuery, parseMessage } from "../support/dns-message.js";
import { type RunningLivezone, startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { waitUntil } from "../support/wait.js";
import { connectTcp } from "./harness.js";

const ZONE = `zone: k8s.example.test
nameservers: { ns1: 192.0.2.1 }
endpoints:
  api:
    targets: { cp1: 192.0.2.11, cp2: 192.0.2.12 }
    probe: { type: none }
`;

const NAME = "api.k8s.example.test";
const COOKIE = 10;
const CLIENT_COOKIE = Buffer.from("0011223344556677", "hex");

const main = (port: number, queries: string): string =>
  `listen: ["127.0.0.1:${port}"]\nworkers: 2\nzones: [zone.yaml]\nqueries:\n${queries.replace(/^/gm, "  ")}\n`;

/** A real server with two threads. */
async function start(queries: string, files: Readonly<Record<string, string>> = {}, more = "") {
  const port = await freePort();
  const mainFile = main(port, queries) + more;
  const livezone = await startLivezone({ files: { "livezone.yaml": mainFile, "zone.yaml": ZONE, ...files } });
  return { livezone, server: "127.0.0.1", port };
}

async function reload(livezone: RunningLivezone, port: number, queries: string): Promise<void> {
  const before = livezone.logs("configuration reloaded").length;
  livezone.write("livezone.yaml", main(port, queries));
  livezone.signal("SIGHUP");
  await waitUntil(() => livezone.logs("configuration reloaded").length > before);
}

/** The data of the COOKIE option of a reply to one with these data. */
async function cookie(
  to: { server: string; port: number; transport?: "udp" | "tcp" },
  data: Uint8Array,
): Promise<string> {
  const { edns } = await ask({ ...to, name: NAME, edns: { options: [{ code: COOKIE, data }] } });
  const option = edns?.options.find(({ code }) => code === COOKIE);
  return Buffer.from(option?.data ?? []).toString("hex");
}

/** A UDP socket of its own address. */
async function clientAt(address: string, to: { server: string; port: number }): Promise<Socket> {
  const socket = createSocket("udp4");
  afterThisTest(() => socket.close());
  socket.bind(0, address);
  await once(socket, "listening");
  socket.connect(to.port, to.server);
  await once(socket, "connect");
  return socket;
}

async function askFrom(socket: Socket): Promise<DnsMessage> {
  const reply = once(socket, "message");
  socket.send(encodeQuery({ name: NAME }));
  const [message] = (await reply) as [Buffer];
  return parseMessage(message);
}

describe("queries, as configured", () => {
  test("all threads give out the cookies of one secret, and a rollover in the file is taken at a reload", async () => {
    const to = await start("cookieSecretFile: cookies", { cookies: `${"ab".repeat(16)}\n` });
    const good = Buffer.from(await cookie(to, CLIENT_COOKIE), "hex");
    expect(good).toHaveLength(24);
    // Each client socket reaches one of the two threads.
    for (let i = 0; i < 16; i += 1) expect(await cookie(to, good)).toBe(good.toString("hex"));
    expect(await cookie({ ...to, transport: "tcp" }, good)).toBe(good.toString("hex"));

    to.livezone.write("cookies", `${"cd".repeat(16)}\n${"ab".repeat(16)}\n`);
    await reload(to.livezone, to.port, "cookieSecretFile: cookies");
    await waitUntil(async () => (await cookie(to, good)) !== good.toString("hex"));
  });

  test("identity, version and access list, and none of them after a reload", async () => {
    const to = await start('identity: site-a\nversion: "9"\nallow: 127.0.0.1');
    const chaos = { ...to, name: "version.bind", type: "TXT", class: "CH" };
    expect((await ask(chaos)).answers[0]?.rdata).toBe('"9"');
    const stranger = await clientAt("127.0.0.2", to);
    expect((await askFrom(stranger)).rcode).toBe("REFUSED");
    expect((await ask({ ...to, name: NAME })).rcode).toBe("NOERROR");

    await reload(to.livezone, to.port, "tcp: { idleTimeout: 5s }");
    await waitUntil(async () => (await askFrom(stranger)).rcode === "NOERROR");
    expect((await ask(chaos)).rcode).toBe("REFUSED");
  });

  test("an idle TCP connection is ended when it is time", async () => {
    const to = await start("tcp: { idleTimeout: 1s }");
    const option = { code: 11, data: Buffer.alloc(0) };
    const { edns } = await ask({ ...to, transport: "tcp", name: NAME, edns: { options: [option] } });
    expect(Buffer.from(edns?.options[0]?.data ?? []).toString("hex")).toBe("000a");
  });

  test("connections and queries that a limit turns away are counted", async () => {
    const admin = await freePort();
    const to = await start(
      "tcp: { maxPerClient: 1 }\nallow: 127.0.0.0/8",
      {},
      `admin: { http: "127.0.0.1:${admin}" }\n`,
    );
    const first = await connectTcp(to);
    first.send(encodeQuery({ name: NAME }));
    await waitUntil(() => first.messages.length === 1);
    const second = await connectTcp(to);
    await second.closed;
    const metrics = await (await fetch(`http://127.0.0.1:${admin}/metrics`)).text();
    expect(metrics).toContain('livezone_dns_dropped_total{reason="connection-limit"} 1');
  });

  test("one prefix at ten times the limit: others lose nothing", async () => {
    const to = await start("rateLimit: { perSecond: 50, slip: 2 }");
    const flood = await clientAt("127.0.5.1", to);
    const replies: DnsMessage[] = [];
    flood.on("message", (message) => replies.push(parseMessage(message)));
    const others = await Promise.all(Array.from({ length: 20 }, (_, i) => clientAt(`127.0.${10 + i}.1`, to)));
    const query = encodeQuery({ name: NAME });
    for (let round = 0; round < 10; round += 1) {
      for (let i = 0; i < 50; i += 1) flood.send(query);
      // Each waits for its answer: none may be lost or cut.
      for (const other of others) expect((await askFrom(other)).answers).toHaveLength(2);
    }
    const whole = replies.filter(({ flags }) => !flags.tc);
    const cut = replies.filter(({ flags }) => flags.tc);
    // Of 500 at once: 50, or less if one thread got them all, and what comes back while the test runs.
    expect(whole.length).toBeLessThan(250);
    expect(cut.length).toBeGreaterThan(50);
    for (const message of cut) expect(message.answers).toEqual([]);
  });
});
