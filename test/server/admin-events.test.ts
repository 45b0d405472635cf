import { expect, test } from "vitest";
import { createEventLog } from "../../src/admin/event-ring.js";
import { eventSchema } from "../../src/admin/schemas.js";
import { adminEvents } from "../../src/server/admin-events.js";
import type { FinishedTransfer } from "../../src/transfer/service.js";
import { parseName } from "../../src/wire/name.js";

const zone = parseName("k8s.example.com");

/** What is published, without number and time. */
function published(run: (subscriber: ReturnType<typeof adminEvents>) => void) {
  const log = createEventLog({ wallMs: () => 7 }, 0);
  run(adminEvents(log));
  return log.newest(100).map((event) => {
    const { id: _, atMs: __, ...content } = eventSchema.parse(event);
    return content;
  });
}

test("a secondary that does not follow, and that follows again", () => {
  const secondary = { address: "10.0.0.53", port: 53 };
  const events = published((subscriber) => {
    const tell = subscriber["secondary-trouble"];
    const behind = { zone, secondary, trouble: "behind", checked: { atMs: 1, serial: 5 }, lagMs: 5_000.4 } as const;
    tell?.({ type: "secondary-trouble", isInTrouble: true, state: behind }, 0);
    tell?.({ type: "secondary-trouble", isInTrouble: false, state: { zone, secondary, lagMs: 0 } }, 0);
  });
  const same = { type: "secondary", zone: "k8s.example.com", secondary: "10.0.0.53:53" };
  expect(events).toEqual([
    { ...same, trouble: "behind", serial: 5, lagMs: 5_000 },
    { ...same, lagMs: 0 },
  ]);
});

test("transfers of whole zones, and those that were cut; not every change", () => {
  const transfer = { zone, client: "10.0.0.53", serial: 5, octets: 100, durationMs: 1 };
  const kinds: readonly Pick<FinishedTransfer, "kind" | "isComplete">[] = [
    { kind: "axfr", isComplete: true },
    { kind: "ixfr", isComplete: true },
    { kind: "current", isComplete: true },
    { kind: "ixfr", isComplete: false },
  ];
  const events = published((subscriber) => {
    for (const kind of kinds) {
      subscriber["transfer-finished"]?.({ type: "transfer-finished", transfer: { ...transfer, ...kind } }, 0);
    }
  });
  const same = { type: "transfer", zone: "k8s.example.com", secondary: "10.0.0.53", serial: 5 };
  expect(events).toEqual([
    { ...same, kind: "axfr", complete: true },
    { ...same, kind: "ixfr", complete: false },
  ]);
});
