import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { expect, test } from "vitest";
import { ServerEvents } from "../../src/server/events.js";
import { readSavedState } from "../../src/server/saved-state.js";
import { RESERVED_AHEAD, SerialReservations } from "../../src/server/serial-reservations.js";
import { LiveZone } from "../../src/zone/live-zone.js";
import { isSerialNewer } from "../../src/zone/serial.js";
import { createFakeClock } from "../support/fake-clock.js";
import { seededRandom } from "../support/random.js";
import { temporaryFolder } from "../support/temp.js";
import { configured } from "../transfer/zones.js";

const NAME = "k8s.example.test";

/** A process that serves one zone from a state folder, and its changes. */
async function startProcess(folder: string, clock: ReturnType<typeof createFakeClock>) {
  const events = new ServerEvents(clock, pino({ level: "silent" }));
  const { known, serials } = await readSavedState(folder, clock, events);
  const zone = new LiveZone(configured(), new Map(), clock.wallMs(), known.serial(NAME));
  const subscriber = serials.subscriber();
  subscriber["zone-added"]?.({ type: "zone-added", zone }, 0);
  await serials.saved();
  subscriber.ready?.({ type: "ready", isComplete: true, endpoints: [] }, 0);
  let refresh = 0;
  return {
    serials,
    get serial() {
      return zone.serial;
    },
    change() {
      refresh = 1 - refresh;
      const change = zone.replace(configured("", 100 + refresh), new Map(), clock.wallMs());
      if (change !== undefined) subscriber["zone-changed"]?.({ type: "zone-changed", change }, 0);
    },
  };
}

test("after 200 kills, with a clock that jumps, serials have only increased", async () => {
  const folder = temporaryFolder();
  const clock = createFakeClock();
  const random = seededRandom(13);
  let last: number | undefined;
  for (let start = 0; start < 200; start += 1) {
    const process = await startProcess(folder, clock);
    if (last !== undefined) expect(isSerialNewer(process.serial, last)).toBe(true);
    for (let count = Math.floor(random() * 700); count > 0; count -= 1) process.change();
    // What a disk has done by the time at which a process is killed.
    await process.serials.saved();
    last = process.serial;
    clock.stepWall((random() - 0.5) * 2 * 86_400_000);
  }
}, 60_000);

test("a clock that goes on without a change is followed", async () => {
  const folder = temporaryFolder();
  const clock = createFakeClock();
  const first = await startProcess(folder, clock);
  for (let minutes = 0; minutes < 60; minutes += 1) await clock.advance(60_000);
  await first.serials.saved();
  first.change();
  const last = first.serial;
  clock.stepWall(-86_400_000);
  const second = await startProcess(folder, clock);
  expect(isSerialNewer(second.serial, last)).toBe(true);
});

test("a restart goes on where the last process ended, and does not leap", async () => {
  const folder = temporaryFolder();
  const clock = createFakeClock();
  const first = await startProcess(folder, clock);
  first.change();
  await first.serials.stop(false);
  const second = await startProcess(folder, clock);
  expect(second.serial).toBe(first.serial + 1);
  await second.serials.stop(true);
  const third = await startProcess(folder, clock);
  expect(third.serial - second.serial).toBeGreaterThanOrEqual(RESERVED_AHEAD);
});

test("a file that cannot be used is set aside, and the time serves", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "serials.json"), "{");
  const clock = createFakeClock();
  expect((await startProcess(folder, clock)).serial).toBe(clock.wallMs() / 1000);
});

test("what could not be written is told, and tried again", async () => {
  const clock = createFakeClock();
  const written: unknown[] = [];
  const errors: unknown[] = [];
  let isFull = true;
  const serials = new SerialReservations({
    clock,
    file: {
      async write(value) {
        if (isFull) throw new Error("no space left");
        written.push(value);
      },
    },
    onError: (error) => errors.push(error),
  });
  const subscriber = serials.subscriber();
  const zone = new LiveZone(configured(), new Map(), clock.wallMs());
  subscriber["zone-added"]?.({ type: "zone-added", zone }, 0);
  await serials.saved();
  expect(errors).toHaveLength(1);
  subscriber.ready?.({ type: "ready", isComplete: true, endpoints: [] }, 0);
  await serials.saved();
  isFull = false;
  await clock.advance(60_000);
  expect(written).toEqual([{ [NAME]: zone.serial + RESERVED_AHEAD }]);
  expect(serials.floor(NAME)).toBe(zone.serial + RESERVED_AHEAD);
});
