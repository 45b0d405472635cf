import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { expect, test } from "vitest";
import { openKeptState } from "../../src/health/persisted-state.js";
import { ServerEvents } from "../../src/server/events.js";
import { readSavedState } from "../../src/server/saved-state.js";
import { createFakeClock } from "../support/fake-clock.js";
import { temporaryFolder } from "../support/temp.js";

const FQDN = "api.k8s.example.com";
const OVERRIDE = { endpoint: FQDN, target: "cp1", kind: "drained", origin: "operator", setAtMs: 7 } as const;

function setUp() {
  const clock = createFakeClock();
  const events = new ServerEvents(clock, pino({ level: "silent" }));
  const alarms: string[] = [];
  events.subscribe("test", { "state-alarm": ({ alarm }) => void alarms.push(alarm.problem) });
  return { clock, events, alarms };
}

test("without a folder nothing is known, and nothing is kept", async () => {
  const { clock, events } = setUp();
  const saved = await readSavedState(undefined, clock, events);
  expect(saved).toMatchObject({ known: { isFresh: false }, overrides: [] });
  expect(saved).not.toHaveProperty("files");
});

test("an empty folder is a first start: nothing is known, and nobody is alarmed", async () => {
  const { clock, events, alarms } = setUp();
  const saved = await readSavedState(join(temporaryFolder(), "state"), clock, events);
  expect(saved.known).toMatchObject({ isFresh: false });
  expect(saved.overrides).toEqual([]);
  expect(saved.files).toBeDefined();
  expect(alarms).toEqual([]);
});

test("what the process before has left is read", async () => {
  const { clock, events } = setUp();
  const folder = temporaryFolder();
  const files = openKeptState({ folder, clock, onAlarm: () => {} });
  await files.overrides.write([OVERRIDE]);
  await files.last.write({
    savedAtMs: clock.wallMs() - 1_000,
    endpoints: [
      { fqdn: FQDN, addresses: [{ target: "cp1", address: "192.0.2.11", health: "up", sinceMs: 5 }], lastHealthy: [] },
    ],
    zones: [{ zone: "k8s.example.com", serial: 9 }],
  });
  const { known, overrides } = await readSavedState(folder, clock, events);
  expect(overrides).toEqual([OVERRIDE]);
  expect(known).toMatchObject({ isFresh: true, ageMs: 1_000 });
  expect(known.recall(FQDN, "cp1", "192.0.2.11")).toMatchObject({ health: "up" });
  expect(known.serial("k8s.example.com")).toBe(9);
});

test("a file that cannot be used is told of, and the other one still counts", async () => {
  const { clock, events, alarms } = setUp();
  const folder = temporaryFolder();
  await openKeptState({ folder, clock, onAlarm: () => {} }).overrides.write([OVERRIDE]);
  writeFileSync(join(folder, "last.json"), "garbage");
  const { known, overrides } = await readSavedState(folder, clock, events);
  expect(known.isFresh).toBe(false);
  expect(overrides).toEqual([OVERRIDE]);
  expect(alarms).toHaveLength(1);
});
