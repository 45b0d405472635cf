/** The part of `bench/siblings.mjs` in which junk is sent to a server: see there. */
import { fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { compile, median, runLoad } from "./measure.mjs";
import { queryLine } from "./queries.mjs";
import { probed, startTargets } from "./sibling-failures.mjs";
import { createWorld, ENDPOINT, serverAddress, Watch } from "./sibling-world.mjs";

const SENDER = fileURLToPath(new URL("sibling-junk-sender.mjs", import.meta.url));
const KINDS = ["right", "endless", "deaf", "wrong", "none", "truncated", "replayed"];
const RECEIVER = fileURLToPath(new URL("sibling-junk-receiver.mjs", import.meta.url));
const RATIO_BAR = 0.95;

/** Time of one measurement, seconds. */
const SECONDS = 3;

/** Runs a sender for as long as `work` takes. @returns messages that it sent, and what `work` returns */
async function whileSending(kind, secret, work, address = serverAddress(1)) {
  const sender = fork(SENDER, [kind, address, secret]);
  await sleep(500);
  const result = await work();
  const told = once(sender, "message");
  sender.send("how many");
  const [sent] = await told;
  sender.disconnect();
  await once(sender, "exit");
  return { sent, result };
}

/** Junk of each kind to a server that is asked as fast as it goes. @param says one kind, or `all` */
export async function junk({ says, rounds, misses }) {
  const targets = await startTargets(3);
  const world = await createWorld({ count: 1, zone: probed(3), peers: { ns2: "10.77.1.254:9854" } });
  await world.start();
  const [server] = world.servers;
  const watch = new Watch([server], 20);
  await watch.until(0, (all) => all.length === 3, 20_000);
  watch.forget();
  const fromMs = performance.now();
  const load = compile(tmpdir(), "load");
  const queries = path.join(world.folder, "queries.txt");
  writeFileSync(queries, `${queryLine({ name: ENDPOINT })}\n`);
  const asked = async () =>
    (await runLoad(load, ["--address", serverAddress(1), "--port", 53, "--queries", queries, "--seconds", SECONDS]))
      .qps;
  await asked();
  for (const kind of KINDS.filter((one) => says === "all" || says === one)) {
    const ratios = [];
    const memory = [server.memory()];
    let total = 0;
    while (ratios.length < rounds) {
      const without = await asked();
      const { sent, result } = await whileSending(kind, world.options.secret, asked);
      total += sent;
      ratios.push(result / without);
      memory.push(server.memory());
    }
    const isAlive = server.process.exitCode === null && server.process.signalCode === null;
    const withdrawn = watch.since(0, fromMs).filter(({ addresses }) => addresses.length < 3).length;
    const ratio = median(ratios);
    console.log(
      `junk, ${kind}: ${total} messages; queries/s with it to without: ${ratio.toFixed(3)} (bar: ${RATIO_BAR}; rounds: ${ratios.map((one) => one.toFixed(2)).join(" ")}); memory ${memory.map(Math.round).join(" ")} MB; alive: ${isAlive}; withdrawals: ${withdrawn}`,
    );
    if (!isAlive || withdrawn > 0 || ratio < RATIO_BAR) misses.push(`junk, ${kind}`);
  }
  watch.stop();
  await world.end();
  for (const target of targets) await target.crash();
}

/** A million messages with the right secret, to the part of a server that hears siblings. */
export async function million({ messages, misses }) {
  const secret = randomBytes(32).toString("hex");
  const receiver = fork(RECEIVER, [secret]);
  await once(receiver, "message");
  const look = async () => {
    receiver.send("how many");
    return (await once(receiver, "message"))[0];
  };
  const memory = [];
  const fromMs = performance.now();
  const { sent } = await whileSending(
    "right",
    secret,
    async () => {
      // What is brought to the host of them is five in eight.
      for (let now = await look(); now.heard < messages * 0.65 && receiver.exitCode === null; now = await look()) {
        memory.push(Math.round(now.megabytes));
        await sleep(3_000);
      }
    },
    "127.0.0.1",
  );
  const { heard } = await look();
  receiver.disconnect();
  console.log(
    `junk with the right secret: ${sent} messages in ${Math.round((performance.now() - fromMs) / 1_000)} s, ${heard} of them brought to the host; memory ${memory.join(" ")} MB`,
  );
  if (sent < messages) misses.push("million");
}
