import { pino } from "pino";
import { expect, test } from "vitest";
import type { Snapshot, Transition } from "../../src/health/health.js";
import { Changes } from "../../src/server/changes.js";
import type { ServedEndpoint, ServedEndpoints } from "../../src/server/endpoints.js";
import { type ServerEvent, ServerEvents, type Subscriber } from "../../src/server/events.js";
import type { ZoneChange } from "../../src/zone/live-zone.js";
import { createFakeClock } from "../support/fake-clock.js";

const FQDN = "api.k8s.example.com";
const NOTHING: Snapshot = { endpoints: new Map() };

/** Endpoints whose answers follow every change as `changes` says. */
function setUp(changes: { readonly update: boolean; readonly mode: boolean }) {
  const before = { mode: "healthy", addresses: [], upTargets: 1 } as const;
  const after = changes.mode ? ({ mode: "fail-open", addresses: [], upTargets: 0 } as const) : before;
  // What Changes reads of an endpoint is its answerable addresses.
  const endpoint = { answerable: after } as unknown as ServedEndpoint;
  const followed: string[] = [];
  const events = new ServerEvents(createFakeClock(), pino({ level: "silent" }));
  const served = {
    endpoints: new Map([[FQDN, endpoint]]),
    follow(fqdn: string) {
      followed.push(fqdn);
      const change = { zone: "" } as unknown as ZoneChange;
      if (changes.update) events.publish({ type: "zone-changed", change });
      return { endpoint, before, ...(changes.update ? { change } : {}) };
    },
  } as unknown as ServedEndpoints;
  const seen: string[] = [];
  const note = (event: ServerEvent): void => void seen.push(event.type);
  const types = [
    "zone-changed",
    "answers-changed",
    "health-changed",
    "override-changed",
    "suppression-changed",
  ] as const;
  events.subscribe("test", Object.fromEntries(types.map((type) => [type, note])) as Subscriber);
  return { changes: new Changes(served, events), seen, followed };
}

const transition = (target: string): Transition => ({
  fqdn: FQDN,
  target,
  address: "192.0.2.11",
  from: "up",
  to: "down",
  result: { class: "refused", reason: "connection refused", durationMs: 1 },
  afterMs: 1,
});

test("answers follow a change of health once for each endpoint, and are told before it", () => {
  const { changes, seen, followed } = setUp({ update: true, mode: true });
  changes.health([transition("cp1"), transition("cp2")], NOTHING);
  expect(followed).toEqual([FQDN]);
  expect(seen).toEqual(["zone-changed", "answers-changed", "health-changed", "health-changed"]);
});

test.each([
  { name: "nothing of the answers", update: false, mode: false, told: [] },
  { name: "the grounds alone", update: false, mode: true, told: ["answers-changed"] },
  { name: "the addresses", update: true, mode: false, told: ["zone-changed", "answers-changed"] },
])("an override that changes $name is told with that", ({ told, ...what }) => {
  const { changes, seen } = setUp(what);
  const entry = { endpoint: FQDN, target: "cp1", kind: "drained", origin: "operator", setAtMs: 0 } as const;
  changes.override({ action: "set", entry, actor: { origin: "operator" } }, NOTHING);
  expect(seen).toEqual([...told, "override-changed"]);
});

test("the begin of a suppression is told once the answers have followed", () => {
  const { changes, seen } = setUp({ update: true, mode: false });
  const held = { untilMs: 1, changes: 6 };
  const addresses = [{ address: "192.0.2.11", health: "down", sinceMs: 0, held } as const];
  const snapshot: Snapshot = { endpoints: new Map([[FQDN, { fqdn: FQDN, targets: [{ id: "cp1", addresses }] }]]) };
  changes.suppression([FQDN, FQDN], snapshot);
  expect(seen).toEqual(["zone-changed", "answers-changed", "suppression-changed"]);
});
