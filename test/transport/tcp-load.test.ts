import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { afterThisTest } from "../support/cleanup.js";
import { ask } from "../support/dns-client.js";
import { encodeQuery } from "../support/dns-message.js";
import { startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { frame } from "./harness.js";

const ZONE = `zone: k8s.example.test
nameservers: { ns1: 192.0.2.1 }
endpoints:
  api:
    targets: { cp1: 192.0.2.11, cp2: 192.0.2.12 }
    probe: { type: none }
`;

test("1,000 idle connections and 100 slow ones: UDP unaffected, new clients served", async () => {
  const port = await freePort();
  const files = { "livezone.yaml": `listen: ["127.0.0.1:${port}"]\nzones: [zone.yaml]\n`, "zone.yaml": ZONE };
  await startLivezone({ files });
  const to = { server: "127.0.0.1", port, name: "api.k8s.example.test" };
  for (const transport of ["udp", "tcp"] as const) await ask({ ...to, transport });

  const sockets: Socket[] = [];
  afterThisTest(() => {
    for (const socket of sockets) socket.destroy();
  });
  const open = async (from: string): Promise<Socket> => {
    const socket = connect({ host: "127.0.0.1", port, localAddress: from });
    socket.on("error", () => {});
    sockets.push(socket);
    await once(socket, "connect");
    return socket;
  };
  const query = frame(encodeQuery({ name: to.name }));
  await Promise.all(Array.from({ length: 1_000 }, (_, i) => open(`127.0.1.${(i % 10) + 1}`)));
  const slow = await Promise.all(Array.from({ length: 100 }, () => open("127.0.2.1")));
  let steps = 0;
  const drip = setInterval(() => {
    // Half of them send one octet at a time; the others ask a lot and read nothing.
    slow.forEach((socket, i) => {
      if (socket.destroyed) return;
      if (i % 2 === 0) socket.write(query.subarray(steps % query.length, (steps % query.length) + 1));
      else if (steps < 20) socket.pause().write(Buffer.concat(Array(500).fill(query)));
    });
    steps += 1;
  }, 20);
  try {
    for (let i = 0; i < 100; i += 1) {
      expect((await ask(to)).answers).toHaveLength(2);
      if (i % 10 === 0) expect((await ask({ ...to, transport: "tcp" })).answers).toHaveLength(2);
    }
    expect(steps).toBeGreaterThan(0);
  } finally {
    clearInterval(drip);
  }
});
