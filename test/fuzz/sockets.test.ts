import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { ask } from "../support/dns-client.js";
import { type RunningLivezone, startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { pick, seededRandom } from "../support/random.js";
import { frame } from "../transport/harness.js";
import { mutate, seeds } from "./mutate.js";
import { SKETCH } from "./zone.js";

/** 500,000 by `LIVEZONE_FUZZ_SOCKET_PACKETS=500000 npx vitest run test/fuzz/sockets.test.ts`. */
const PACKETS = Number(process.env.LIVEZONE_FUZZ_SOCKET_PACKETS ?? 20_000);
const SEED = Number(process.env.LIVEZONE_FUZZ_SEED ?? 6);

/** Packets between two control queries: few enough for the server's receive buffer. */
const BURST = 100;

/** Messages on one TCP connection. */
const PER_CONNECTION = 20;

async function start(): Promise<{ livezone: RunningLivezone; server: string; port: number }> {
  const port = await freePort();
  const { records, endpoints = {} } = SKETCH;
  const zone = {
    zone: "k8s.example.test",
    nameservers: { ns1: "192.0.2.1" },
    records,
    endpoints: Object.fromEntries(
      Object.entries(endpoints).map(([name, targets]) => [name, { targets, probe: { type: "none" } }]),
    ),
  };
  const files = {
    "livezone.yaml": `listen: ["127.0.0.1:${port}"]\nzones: ["zone.yaml"]\n`,
    "zone.yaml": JSON.stringify(zone),
  };
  return { livezone: await startLivezone({ files }), server: "127.0.0.1", port };
}

test(`${PACKETS} mutated packets over UDP: every control query answered`, { timeout: 0 }, async () => {
  const to = await start();
  const random = seededRandom(SEED);
  const corpus = seeds(random, 500);
  const socket = createSocket("udp4");
  // Replies, and the errors of a server that is gone, are the control queries' business.
  socket.on("error", () => {});
  socket.connect(to.port, to.server);
  await once(socket, "connect");
  for (let sent = 0; sent < PACKETS; sent += BURST) {
    for (let i = 0; i < BURST; i += 1) socket.send(mutate(random, corpus));
    expect((await ask({ ...to, name: "api.k8s.example.test" })).answers).toHaveLength(3);
  }
  socket.close();
});

test(`${PACKETS / 10} mutated messages over TCP, some with wrong lengths: likewise`, { timeout: 0 }, async () => {
  const to = await start();
  const random = seededRandom(SEED + 1);
  const corpus = seeds(random, 500);
  for (let sent = 0; sent < PACKETS / 10; sent += PER_CONNECTION) {
    const socket = connect(to.port, to.server);
    socket.on("error", () => {});
    socket.resume();
    // Not `once`, which rejects at a reset: that is the server's right here.
    const closed = new Promise((resolve) => socket.once("close", resolve));
    for (let i = 0; i < PER_CONNECTION; i += 1) {
      const octets = frame(mutate(random, corpus));
      if (random() < 0.05) octets.writeUInt16BE(pick(random, [0, 1, 11, 12, 0xffff]), 0);
      socket.write(octets);
    }
    if (random() < 0.5) socket.end();
    else socket.destroySoon();
    expect((await ask({ ...to, transport: "tcp", name: "api.k8s.example.test" })).answers).toHaveLength(3);
    socket.destroy();
    await closed;
  }
});
