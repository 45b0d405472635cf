import { spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { UserError } from "../../src/lib/errors.js";
import { openUdp } from "../../src/transport/udp.js";
import { ask, askRaw } from "../support/dns-client.js";
import { encodeQuery } from "../support/dns-message.js";
import { serveSockets } from "./harness.js";

describe.each(["127.0.0.1", "::1"])("UDP on %s", (address) => {
  test("answers", async () => {
    const served = await serveSockets(address);
    const message = await ask({ ...served, name: "API.k8s.example.test", edns: {} });
    expect(message.answers.map(({ rdata }) => rdata).sort()).toEqual(["192.0.2.11", "192.0.2.12", "192.0.2.13"]);
    expect(message.questions[0]?.name).toBe("API.k8s.example.test.");
  });

  test("says TC where TCP has the whole answer", async () => {
    const served = await serveSockets(address);
    for (const edns of [undefined, { udpSize: 1232 }, { udpSize: 65_535 }]) {
      const question = { ...served, name: "crowd.k8s.example.test", ...(edns === undefined ? {} : { edns }) };
      expect(await ask(question)).toMatchObject({ flags: { tc: true }, answers: [] });
      const whole = await ask({ ...question, transport: "tcp" });
      expect(whole.flags.tc).toBe(false);
      expect(whole.answers).toHaveLength(90);
    }
  });

  test("3,000 queries: each of three addresses first in 1,000 replies", async () => {
    const served = await serveSockets(address);
    const client = createSocket(address.includes(":") ? "udp6" : "udp4");
    client.connect(served.port, served.server);
    await once(client, "connect");
    const first = new Map<string, number>();
    const query = encodeQuery({ name: "api.k8s.example.test" });
    for (let i = 0; i < 300; i += 1) {
      const reply = once(client, "message");
      client.send(query);
      const [message] = (await reply) as [Buffer];
      // Header, question, then owner, type, class, TTL and length of the first record.
      const key = [...message.subarray(query.length + 12, query.length + 16)].join(".");
      first.set(key, (first.get(key) ?? 0) + 1);
    }
    client.close();
    expect([...first.values()]).toEqual([100, 100, 100]);
  });
});

test("what gets no answer disturbs nobody", async () => {
  const served = await serveSockets();
  for (const bytes of [Buffer.alloc(0), Buffer.alloc(5), Buffer.alloc(12, 0xff), Buffer.alloc(9_000, 0x80)]) {
    expect(await askRaw({ ...served, bytes, timeoutMs: 50 })).toBeUndefined();
  }
  expect((await ask({ ...served, name: "api.k8s.example.test" })).answers).toHaveLength(3);
});

/** Sends a datagram with a forged source port, for which Node has no call. @returns whether that was possible */
function sendFrom(port: number, to: { readonly server: string; readonly port: number }, bytes: Uint8Array): boolean {
  const program = [
    "import socket, struct, sys",
    "s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)",
    "data = bytes.fromhex(sys.argv[4])",
    "s.sendto(struct.pack('!HHHH', int(sys.argv[1]), int(sys.argv[3]), 8 + len(data), 0) + data, (sys.argv[2], 0))",
  ];
  const args = ["-c", program.join("\n"), String(port), to.server, String(to.port), Buffer.from(bytes).toString("hex")];
  return spawnSync("python3", args).status === 0;
}

const canForge = sendFrom(9, { server: "127.0.0.1", port: 9 }, Buffer.alloc(0));
test.skipIf(!canForge)(
  `a datagram forged to come from port 0 is passed over${canForge ? "" : " (skipped: needs python3 and raw sockets)"}`,
  async () => {
    const served = await serveSockets();
    const query = encodeQuery({ name: "api.k8s.example.test" });
    for (let i = 0; i < 3; i += 1) expect(sendFrom(0, served, query)).toBe(true);
    expect((await ask({ ...served, name: "api.k8s.example.test" })).answers).toHaveLength(3);
  },
);

test("stop closes the socket: the port is free again, and queries meet nobody", async () => {
  const first = await openUdp({ address: "127.0.0.1", port: 0 }, () => 0);
  await first.stop(0);
  const second = await openUdp(first.address, () => 0);
  await second.stop(0);
  const bytes = encodeQuery({ name: "api.k8s.example.test" });
  await expect(askRaw({ server: "127.0.0.1", port: first.address.port, bytes })).rejects.toThrow("ECONNREFUSED");
});

test("an address in use is an error that says so", async () => {
  const served = await serveSockets();
  const second = openUdp({ address: served.server, port: served.port }, () => 0);
  await expect(second).rejects.toThrow(UserError);
  await expect(second).rejects.toMatchObject({ code: "LISTEN_ADDRESS_IN_USE" });
});
