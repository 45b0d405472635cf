import { expect, test } from "vitest";
import { openDiscoveredState } from "../../src/server/discovery-state.js";
import { createFakeClock } from "../support/fake-clock.js";
import { temporaryFolder } from "../support/temp.js";

test("what was learned is read as it was written", async () => {
  const clock = createFakeClock();
  const file = openDiscoveredState({ folder: temporaryFolder(), clock, onAlarm: () => {} });
  expect(await file.read()).toBeUndefined();
  const one = { address: "192.0.2.11", id: "cp1", name: "cp1", sources: ["file:t"], isProven: true };
  const state = [
    { fqdn: "api.example.com", learned: [one, { ...one, address: "192.0.2.12", goneSinceMs: 7, drain: "x" }] },
  ];
  await file.write(state);
  expect(await file.read()).toEqual(state);
});
