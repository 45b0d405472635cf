import type { Worker } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import { CompiledZones } from "../../src/answers/compiled-zones.js";
import { createLogger } from "../../src/lib/logger.js";
import { loadBatch } from "../../src/transport/batch/load.js";
import { WorkerPool } from "../../src/transport/worker-pool.js";
import { startThread } from "../../src/transport/worker-thread.js";
import { LiveZone } from "../../src/zone/live-zone.js";
import { answering as answers, sketchZone } from "../answers/serve.js";
import { ask, askForAddresses } from "../support/dns-client.js";
import { loadServer } from "../support/load.js";
import { freePort } from "../support/ports.js";
import { waitUntil } from "../support/wait.js";

const NAME = "api.k8s.example.test";
const THREE = { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"], cp3: ["192.0.2.13"] };
const TWO = { cp1: ["192.0.2.11"], cp3: ["192.0.2.13"] };

const zone = sketchZone({ endpoints: { api: THREE }, records: `big IN TXT ${`"${"x".repeat(200)}" `.repeat(10)}` });
const native = loadBatch();

/** Both ways to carry UDP pass the same tests. */
const TRANSPORTS = [
  { name: "batch", batch: native, skip: native.transport === undefined },
  { name: "dgram", batch: { reason: "asked for by a test" }, skip: false },
] as const;

interface Started {
  readonly answering: WorkerPool;
  readonly live: LiveZone;
  readonly tables: CompiledZones;
  /** The newest thread of each index. */
  readonly threads: Worker[];
  readonly port: number;
}

async function start(
  batch: ReturnType<typeof loadBatch>,
  workers = 1,
  address = "127.0.0.1",
  wantedPort?: number,
  isShared = false,
): Promise<Started> {
  const live = new LiveZone(zone, new Map([[NAME, answers(THREE)]]), Date.now());
  const tables = new CompiledZones();
  tables.add(live);
  const threads: Worker[] = [];
  const answering = new WorkerPool({
    workers,
    batch,
    log: createLogger({ level: "silent" }),
    zones: tables,
    startThread(settings) {
      const worker = startThread(settings);
      threads[settings.index] = worker;
      return worker;
    },
  });
  let isStopped = false;
  onTestFinished(async () => {
    if (!isStopped) await answering.stop(0);
  });
  const leave = answering.leave.bind(answering);
  answering.leave = (...args) => {
    isStopped = true;
    return leave(...args);
  };
  answering.loadZones([zone.name]);
  answering.setReady();
  const port = wantedPort ?? (await freePort(address));
  await answering.listen([{ address, port }], { isShared });
  return { answering, live, tables, threads, port };
}

describe.each(TRANSPORTS)("answering over $name", ({ batch, skip }) => {
  test.skipIf(skip)("answers over UDP and TCP on one port, and truncates over UDP only", async () => {
    const { port } = await start(batch);
    const at = { server: "127.0.0.1", port };
    expect(await askForAddresses({ ...at, name: NAME })).toEqual(["192.0.2.11", "192.0.2.12", "192.0.2.13"]);
    expect(await askForAddresses({ ...at, name: NAME, transport: "tcp" })).toHaveLength(3);
    const long = { ...at, name: "big.k8s.example.test", type: "TXT" } as const;
    expect(await ask(long)).toMatchObject({ flags: { tc: true }, answers: [] });
    expect((await ask({ ...long, transport: "tcp" })).answers).toHaveLength(1);
  });

  test.skipIf(skip)("a change of health reaches every thread", async () => {
    const { answering, live, tables, port } = await start(batch, 3);
    const endpoint = zone.endpoints[0];
    const change = endpoint && live.setEndpoint(endpoint, answers(TWO), Date.now());
    if (change !== undefined) tables.change(change);
    for (const message of tables.takeChanges()) answering.changeZone(message);
    await waitUntil(async () => (await askForAddresses({ server: "127.0.0.1", port, name: NAME })).length === 2, {
      describe: "two addresses",
    });
    // Every question comes from another port, so that the kernel spreads them over the threads.
    for (let i = 0; i < 50; i += 1)
      expect(await askForAddresses({ server: "127.0.0.1", port, name: NAME })).toEqual(["192.0.2.11", "192.0.2.13"]);
  });

  test.skipIf(skip)("a thread that dies is replaced, with all answers, on the same port", async () => {
    const { threads, port } = await start(batch);
    const [first] = threads;
    await first?.terminate();
    await waitUntil(() => threads[0] !== first, { describe: "another thread" });
    await waitUntil(
      async () =>
        (await askForAddresses({ server: "127.0.0.1", port, name: NAME, timeoutMs: 300 }).catch(() => [])).length === 3,
      { describe: "answers again" },
    );
    expect(await askForAddresses({ server: "127.0.0.1", port, name: NAME, transport: "tcp" })).toHaveLength(3);
  });

  test.skipIf(skip)("the thread of TCP that dies is replaced too, and UDP does not notice", async () => {
    const { answering, threads, port } = await start(batch);
    const tcp = threads[answering.threads];
    await tcp?.terminate();
    expect(await askForAddresses({ server: "127.0.0.1", port, name: NAME })).toHaveLength(3);
    await waitUntil(() => threads[answering.threads] !== tcp, { describe: "another thread" });
    const at = { server: "127.0.0.1", port, name: NAME, transport: "tcp", timeoutMs: 300 } as const;
    await waitUntil(async () => (await askForAddresses(at).catch(() => [])).length === 3, {
      describe: "answers over TCP again",
    });
  });

  test.skipIf(skip)("addresses come and go while it runs; one that cannot be opened changes nothing", async () => {
    const { answering, port } = await start(batch);
    await answering.listen([
      { address: "127.0.0.1", port },
      { address: "127.0.0.2", port },
    ]);
    expect(await askForAddresses({ server: "127.0.0.2", port, name: NAME })).toHaveLength(3);
    await expect(
      answering.listen([
        { address: "127.0.0.1", port },
        { address: "192.0.2.1", port },
      ]),
    ).rejects.toMatchObject({ code: "LISTEN_ADDRESS_UNAVAILABLE" });
    expect(await askForAddresses({ server: "127.0.0.2", port, name: NAME })).toHaveLength(3);
    await answering.listen([{ address: "127.0.0.2", port }]);
    await expect(ask({ server: "127.0.0.1", port, name: NAME })).rejects.toThrow();
    expect(await askForAddresses({ server: "127.0.0.2", port, name: NAME, transport: "tcp" })).toHaveLength(3);
  });

  test.skipIf(skip)("a second server on the same port is refused", async () => {
    const { port } = await start(batch);
    await expect(start(batch, 1, "127.0.0.1", port)).rejects.toMatchObject({ code: "LISTEN_ADDRESS_IN_USE" });
    expect(await askForAddresses({ server: "127.0.0.1", port, name: NAME })).toHaveLength(3);
  });

  test.skipIf(skip)("is silent until it is ready", async () => {
    const tables = new CompiledZones();
    tables.add(new LiveZone(zone, new Map([[NAME, answers(THREE)]]), Date.now()));
    const answering = new WorkerPool({
      workers: 1,
      batch,
      log: createLogger({ level: "silent" }),
      zones: tables,
    });
    onTestFinished(() => answering.stop(0));
    answering.loadZones([zone.name]);
    const port = await freePort();
    await answering.listen([{ address: "127.0.0.1", port }]);
    await expect(ask({ server: "127.0.0.1", port, name: NAME, timeoutMs: 300 })).rejects.toThrow("did not answer");
    answering.setReady();
    // The message to the thread and the query race: a query that comes first is one more that gets no reply.
    const at = { server: "127.0.0.1", port, name: NAME, timeoutMs: 300 };
    await waitUntil(async () => (await askForAddresses(at).catch(() => [])).length === 3, { describe: "answers" });
  });
});

describe.skipIf(native.transport === undefined)("a successor", () => {
  test("takes over five times under load, and not one query is lost", async () => {
    const total = 50_000;
    let { answering, port } = await start(native, 2);
    const load = loadServer(NAME, port, total);
    for (let restart = 0; restart < 5; restart += 1) {
      await waitUntil(() => load.sent() > (total / 6) * (restart + 1), { describe: "more load", timeoutMs: 20_000 });
      const successor = await start(native, 1 + ((restart + 1) % 3), "127.0.0.1", port, true);
      await answering.leave(successor.answering.threads, 1_000);
      successor.answering.settle(answering.threads);
      ({ answering } = successor);
    }
    expect(await load.done).toEqual({ sent: total, lost: 0 });
  });
});

test("says over dgram that an address that is not here takes the native part", async () => {
  const { answering } = await start({ reason: "asked for by a test" });
  const wanted = [{ address: "192.0.2.200", port: await freePort() }];
  await expect(answering.listen(wanted, { freeBind: true })).rejects.toMatchObject({
    code: "LISTEN_ADDRESS_UNAVAILABLE",
    message: expect.stringContaining("freebind needs the native part"),
  });
});
