/** SIGKILL again and again, in the second half with the clock set back a day: serials only increase, and secondaries follow. */
import { once } from "node:events";
import path from "node:path";
import { createAdminClient } from "../dist/client/admin.js";
import { until } from "./children.mjs";
import {
  force,
  HOME,
  KEY,
  mainText,
  PORTS,
  serialAt,
  startKnot,
  startLivezone,
  write,
  ZONE,
  zoneText,
} from "./transfer-world.mjs";

/** Rounds between two looks at the secondaries. */
const LOOK_EVERY = 10;

/** Two secondaries. With a clock a day late nothing that is signed is accepted (RFC 8945 §5.2.3), so one of them signs nothing. */
const SECONDARIES = { signed: PORTS.secondary, unsigned: PORTS.unsigned };

/** The serial of the last change. The threads that answer queries may have it a moment later. */
async function serialOf(admin) {
  const { status, body } = await admin.ask("GET", "/api/v1/status");
  if (status !== 200) throw new Error(`status: ${status}`);
  return body.zones[0].serial;
}

/** Waits until secondaries have the present serial. @returns milliseconds it took the last of them */
async function followed(names, serial) {
  const began = performance.now();
  await Promise.all(
    names.map(async (name) => {
      const has = async () => (await serialAt(SECONDARIES[name])) === serial;
      await until(`${name} secondary follows to ${serial}`, has, 40_000);
    }),
  );
  return performance.now() - began;
}

function writeConfiguration(folder) {
  const to = `[{ address: "127.0.0.1:${SECONDARIES.signed}", key: corp }, "127.0.0.1:${SECONDARIES.unsigned}"]`;
  write(folder, {
    "livezone.yaml": mainText("log: { level: debug }\n"),
    "corp.tsig": KEY,
    "zones/a.yaml": `${zoneText(ZONE)}transfer: { to: ${to} }\n`,
  });
}

/** Starts livezone, changes the zone, looks and kills. @returns the serials, and how long secondaries took if they were looked at */
async function oneLife(folder, admin, { name, isBack, isLook }) {
  const livezone = await startLivezone(folder, {
    name,
    ...(isBack ? { preload: path.join(import.meta.dirname, "clock-back.mjs") } : {}),
  });
  const first = await serialOf(admin);
  for (let change = Math.floor(Math.random() * 4); change >= 0; change -= 1) {
    await force(admin, ZONE, "cp1", change % 2 === 0);
  }
  const last = await serialOf(admin);
  const tookMs = isLook ? await followed(isBack ? ["unsigned"] : ["signed", "unsigned"], last) : undefined;
  const gone = once(livezone, "exit");
  livezone.kill("SIGKILL");
  await gone;
  return { first, last, tookMs };
}

/** @param times how often */
export async function kills(times) {
  const folder = path.join(HOME, "livezone");
  writeConfiguration(folder);
  startKnot(path.join(HOME, "signed"), [ZONE], { port: SECONDARIES.signed, log: "info" });
  startKnot(path.join(HOME, "unsigned"), [ZONE], { port: SECONDARIES.unsigned, log: "info", secret: null });
  const admin = createAdminClient({ kind: "socket", path: path.join(folder, "admin.sock") });
  const took = [];
  let last = 0;
  let lower = 0;
  let same = 0;
  // One life more, with the right clock again.
  for (let round = 0; round <= times; round += 1) {
    const isBack = round >= times / 2 && round < times;
    const isLook = round % LOOK_EVERY === LOOK_EVERY - 1 || round === times;
    const life = await oneLife(folder, admin, { name: `livezone-${round}`, isBack, isLook });
    if (life.first < last || life.last < life.first) lower += 1;
    if (life.first === last) same += 1;
    if (life.tookMs !== undefined) took.push(life.tookMs);
    last = life.last;
  }
  const ahead = last - Math.floor(Date.now() / 1000);
  console.log(
    `${times} times SIGKILL, half of them with the clock a day back: serial lower ${lower} times, the same ${same} times`,
  );
  console.log(
    `secondaries had the newest serial each of ${took.length} times that they were looked at, after ${Math.round(Math.max(...took))} ms at most; the last serial is ${ahead} s ahead of the clock`,
  );
  if (lower + same > 0) process.exitCode = 1;
}
