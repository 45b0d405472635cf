import { randomInt } from "node:crypto";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import { startApiserver } from "../../src/demo/apiserver-process.js";
import { createAuthority } from "../../src/demo/certificates.js";
import { ENDPOINT, startAdminServer } from "../admin/server.js";
import { runLivezone } from "../cli/run.js";
import { afterThisTest } from "../support/cleanup.js";
import { askForAddresses } from "../support/dns-client.js";
import { freePort } from "../support/ports.js";
import { startUnbound } from "../support/unbound.js";
import { waitUntil } from "../support/wait.js";

/** How often the client resolves and connects, milliseconds. */
const EVERY_MS = 50;

/** Opens a connection and closes it. @throws Error if it is refused, or takes longer than a second */
function open(address: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, timeout: 1_000 });
    const end = (error?: Error) => {
      socket.destroy();
      if (error === undefined) resolve();
      else reject(error);
    };
    socket.once("connect", () => end());
    socket.once("timeout", () => end(new Error("no answer")));
    socket.once("error", end);
  });
}

/** Drains, stops and starts one of three apiservers after the other: a client behind a resolver loses not one connection. */
export async function drainInTurn(rounds: number): Promise<void> {
  const net = `127.${randomInt(1, 250)}.${randomInt(0, 256)}`;
  const addresses = [`${net}.11`, `${net}.12`, `${net}.13`];
  const port = await freePort(...addresses);
  const certificate = await (await createAuthority()).issue({ names: [ENDPOINT] });
  const apiservers = await Promise.all(
    addresses.map(async (address) => {
      const apiserver = await startApiserver({ address, port, ...certificate });
      afterThisTest(() => apiserver.crash());
      return apiserver;
    }),
  );
  const server = await startAdminServer({
    zone: `zone: k8s.example.test
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
endpoints:
  api:
    port: ${port}
    ttl: 1
    targets: { cp1: ${addresses[0]}, cp2: ${addresses[1]}, cp3: ${addresses[2]} }
    probe: { insecureSkipVerify: true, interval: 300ms, timeout: 300ms, recheck: 100ms }
`,
  });
  const unbound = await startUnbound({
    stubZones: [{ name: "k8s.example.test", servers: [{ address: "127.0.0.1", port: server.dns }] }],
  });
  const resolve = () => askForAddresses({ server: unbound.address, port: unbound.port, name: ENDPOINT, rd: true });

  const failures: string[] = [];
  const used = new Map<string, number>();
  let opened = 0;
  let isOver = false;
  const client = (async () => {
    while (!isOver) {
      const answered = await resolve();
      const address = answered[randomInt(answered.length)] ?? "";
      await open(address, port).catch((error: Error) => failures.push(`${address}: ${error.message}`));
      used.set(address, (used.get(address) ?? 0) + 1);
      opened += 1;
      await pause(EVERY_MS);
    }
  })();

  const livezone = async (...args: readonly string[]) => {
    const { code, stderr } = await runLivezone(args, { cwd: server.livezone.folder });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  };
  for (let round = 0; round < rounds; round++) {
    const index = round % addresses.length;
    const id = `cp${index + 1}`;
    const address = addresses[index] ?? "";
    await waitUntil(async () => (await resolve()).includes(address), { timeoutMs: 15_000 });
    await livezone("drain", ENDPOINT, id, "--wait");
    await apiservers[index]?.crash();
    // The client goes on for a while with the apiserver gone.
    const before = opened;
    await waitUntil(() => opened >= before + 10);
    await apiservers[index]?.revive();
    await livezone("undrain", ENDPOINT, id);
  }
  isOver = true;
  await client;
  expect(failures).toEqual([]);
  expect(opened).toBeGreaterThan(rounds * 20);
  // Each was used while it could be.
  expect([...used.keys()].sort()).toEqual([...addresses].sort());
}
