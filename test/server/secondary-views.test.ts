import { join } from "node:path";
import { expect, test } from "vitest";
import { statusSchema } from "../../src/admin/schemas.js";
import { prepare } from "../../src/server/load-zones.js";
import { SecondaryViews } from "../../src/server/secondary-views.js";
import type { SecondaryState } from "../../src/transfer/notifier.js";
import type { FinishedTransfer } from "../../src/transfer/service.js";
import { parseName } from "../../src/wire/name.js";
import { folderWith, MAIN, ZONE } from "../config/folder.js";

const NAME = parseName("k8s.example.com");

const finished = (client: string, change: Partial<FinishedTransfer> = {}): FinishedTransfer => ({
  ...{ zone: NAME, client, kind: "ixfr", serial: 7, octets: 234, durationMs: 1, isComplete: true },
  ...change,
});

function viewsOf(states: readonly SecondaryState[], transfer = 'transfer: { to: ["10.0.0.53:5353"] }\n') {
  const views = new SecondaryViews({ states: () => [...states] });
  const configured = (text: string) =>
    prepare(join(folderWith({ "livezone.yaml": MAIN, "zone.yaml": `${ZONE}${text}` }), "livezone.yaml")).config;
  const subscriber = views.subscriber();
  const configure = (text: string): void =>
    subscriber["zones-replaced"]?.({ type: "zones-replaced", config: configured(text) }, 0);
  const transferred = (one: FinishedTransfer, atMs: number): void =>
    subscriber["transfer-finished"]?.({ type: "transfer-finished", transfer: one }, atMs);
  configure(transfer);
  return { views, configure, transferred };
}

const secondary = { address: "10.0.0.53", port: 5353 };

test("shows what is known of a secondary, and its last transfer", () => {
  const { views, transferred } = viewsOf([
    {
      zone: NAME,
      secondary,
      notifiedMs: 100,
      acknowledged: { atMs: 110, rcode: "NOERROR" },
      checked: { atMs: 120, serial: 6 },
      trouble: "behind",
      lagMs: 20.4,
    },
  ]);
  transferred(finished("10.0.0.53", { kind: "axfr", serial: 5 }), 90);
  transferred(finished("10.0.0.53"), 130);
  const { secondaries } = views.status();
  expect(secondaries).toEqual([
    {
      zone: "k8s.example.com",
      address: "10.0.0.53:5353",
      serial: 6,
      checkedAtMs: 120,
      lagMs: 20,
      trouble: "behind",
      notifiedAtMs: 100,
      acknowledged: { atMs: 110, rcode: "NOERROR" },
      transferred: { atMs: 130, kind: "ixfr", serial: 7, octets: 234, complete: true },
    },
  ]);
  expect(statusSchema.shape.secondaries.parse(secondaries)).toEqual(secondaries);
  expect([...views.rows()]).toEqual([
    {
      ...{ zone: "k8s.example.com", secondary: "10.0.0.53:5353", isCurrent: false, lagMs: 20, serial: 6 },
      ...{ notifiedAtMs: 100, acknowledgedAtMs: 110, transferredAtMs: 130 },
    },
  ]);
});

test("says nothing that is not known, and nothing at all without secondaries", () => {
  const { views } = viewsOf([{ zone: NAME, secondary, lagMs: 0 }]);
  expect(views.list()).toEqual([{ zone: "k8s.example.com", address: "10.0.0.53:5353", lagMs: 0 }]);
  // One that has not told its serial is not known to have the present one.
  expect([...views.rows()]).toEqual([
    { zone: "k8s.example.com", secondary: "10.0.0.53:5353", isCurrent: false, lagMs: 0 },
  ]);
  expect(viewsOf([]).views.status()).toEqual({});
});

test("a transfer to somebody who is not notified is not kept, nor one of a secondary that has left", () => {
  const { views, configure, transferred } = viewsOf([{ zone: NAME, secondary, lagMs: 0 }]);
  const last = () => views.list()[0]?.transferred?.atMs;
  transferred(finished("10.9.9.9"), 50);
  transferred(finished("10.0.0.53", { zone: parseName("other.example.com") }), 60);
  expect(last()).toBeUndefined();
  transferred(finished("10.0.0.53"), 70);
  expect(last()).toBe(70);
  configure("transfer: { to: [10.0.0.54] }\n");
  expect(last()).toBeUndefined();
});
