import { randomInt } from "node:crypto";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { type Apiserver, startApiserver } from "../../src/demo/apiserver-process.js";
import { createAuthority } from "../../src/demo/certificates.js";
import { afterThisTest } from "../support/cleanup.js";
import { askForAddresses } from "../support/dns-client.js";
import { freePort } from "../support/ports.js";
import { startUnbound } from "../support/unbound.js";
import { waitUntil } from "../support/wait.js";

/** How often the client resolves and connects, milliseconds. */
const EVERY_MS = 50;

/** Three stand-ins for apiservers that listen on one port. */
export interface ApiserverTrio {
  readonly addresses: readonly string[];
  readonly port: number;
  readonly apiservers: readonly Apiserver[];
}

/** @param name that their certificate has */
export async function startTrio(name: string): Promise<ApiserverTrio> {
  const net = `127.${randomInt(1, 250)}.${randomInt(0, 256)}`;
  const addresses = [`${net}.11`, `${net}.12`, `${net}.13`];
  const port = await freePort(...addresses);
  const certificate = await (await createAuthority()).issue({ names: [name] });
  const apiservers = await Promise.all(
    addresses.map(async (address) => {
      const apiserver = await startApiserver({ address, port, ...certificate });
      afterThisTest(() => apiserver.crash());
      return apiserver;
    }),
  );
  return { addresses, port, apiservers };
}

/** What a client met. */
export interface DrainedRounds {
  readonly opened: number;
  /** Connections that failed. */
  readonly failures: readonly string[];
  /** Addresses that it connected to. */
  readonly used: ReadonlySet<string>;
}

/** What is drained, by whom it is answered, and how. */
export interface DrainRoundsOptions {
  readonly trio: ApiserverTrio;
  readonly rounds: number;
  /** The endpoint's name, in the zone k8s.example.test. */
  readonly endpoint: string;
  /** Ports on loopback on which livezone answers. */
  readonly dns: readonly number[];
  /** Runs a command of livezone, and fails if the command does. */
  livezone(...args: readonly string[]): Promise<void>;
}

/** Drains and kills one apiserver after the other, while a client behind Unbound resolves and connects without pause. */
export async function playDrains(options: DrainRoundsOptions): Promise<DrainedRounds> {
  const { trio, rounds, endpoint, dns, livezone } = options;
  const { addresses, port, apiservers } = trio;
  const unbound = await startUnbound({
    stubZones: [{ name: "k8s.example.test", servers: dns.map((each) => ({ address: "127.0.0.1", port: each })) }],
  });
  const resolve = () => askForAddresses({ server: unbound.address, port: unbound.port, name: endpoint, rd: true });
  const failures: string[] = [];
  const used = new Set<string>();
  let opened = 0;
  let isOver = false;
  const client = (async () => {
    while (!isOver) {
      const answered = await resolve();
      const address = answered[randomInt(answered.length)] ?? "";
      await open(address, port).catch((error: Error) => failures.push(`${address}: ${error.message}`));
      used.add(address);
      opened += 1;
      await pause(EVERY_MS);
    }
  })();
  for (let round = 0; round < rounds; round++) {
    const index = round % addresses.length;
    const id = `cp${index + 1}`;
    const address = addresses[index] ?? "";
    await waitUntil(async () => (await resolve()).includes(address), { timeoutMs: 15_000 });
    await livezone("drain", endpoint, id, "--wait");
    await apiservers[index]?.crash();
    // The client goes on for a while with the apiserver gone.
    const before = opened;
    await waitUntil(() => opened >= before + 10);
    await apiservers[index]?.revive();
    await livezone("undrain", endpoint, id);
  }
  isOver = true;
  await client;
  return { opened, failures, used };
}

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
