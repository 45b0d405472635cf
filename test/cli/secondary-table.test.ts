import { expect, test } from "vitest";
import type { Status } from "../../src/admin/schemas.js";
import { paletteOf } from "../../src/cli/output.js";
import { secondaryAlarms, secondaryTable } from "../../src/cli/secondary-table.js";

const NOW = 1_796_000_000_000;
const palette = paletteOf({ isTTY: false, write: () => {} });

type Secondary = NonNullable<Status["secondaries"]>[number];

function statusWith(secondaries: readonly Secondary[]): Status {
  return {
    ...{
      version: "1.2.3",
      nowMs: NOW,
      startedMs: NOW,
      ready: true,
      isolated: false,
      writable: true,
      lastEventId: "a-0",
    },
    lastReload: { atMs: NOW, ok: true },
    zones: [{ zone: "k8s.example.com", serial: 9, endpoints: [] }],
    secondaries: [...secondaries],
  };
}

const following: Secondary = {
  zone: "k8s.example.com",
  address: "10.0.0.53:53",
  serial: 9,
  lagMs: 0,
  notifiedAtMs: NOW - 5_000,
  acknowledged: { atMs: NOW - 5_000, rcode: "NOERROR" },
  transferred: { atMs: NOW - 4_000, kind: "ixfr", serial: 9, octets: 200, complete: true },
};

test("a line for each zone and secondary", () => {
  expect(secondaryTable(statusWith([following]), palette, false)).toEqual([
    "SECONDARY     ZONE             SERIAL  BEHIND  NOTIFIED  ACKNOWLEDGED  TRANSFERRED",
    "10.0.0.53:53  k8s.example.com  9       -       5 s       5 s NOERROR   4 s ixfr",
  ]);
  const unknown = { zone: "k8s.example.com", address: "10.0.0.54:53", lagMs: 7_000, trouble: "silent" } as const;
  expect(secondaryTable(statusWith([unknown]), palette, false)[1]).toBe(
    "10.0.0.54:53  k8s.example.com  -       silent 7 s  -         -             -",
  );
  expect(secondaryTable(statusWith([]), palette, false)).toEqual([]);
});

test("a terminal shows the worst ones first, and says how many more there are", () => {
  const many = Array.from({ length: 30 }, (_, index) => ({ ...following, address: `10.0.1.${index}:53` }));
  const behind = { ...following, address: "10.0.2.1:53", trouble: "behind" as const, lagMs: 8_000 };
  const lines = secondaryTable(statusWith([...many, behind]), palette, true);
  expect(lines[1]).toContain("10.0.2.1:53");
  expect(lines.at(-1)).toBe("and 11 more: see --json");
  expect(secondaryTable(statusWith([...many, behind]), palette, false)).toHaveLength(32);
});

test.each([
  [
    { trouble: "behind", serial: 7, lagMs: 12_000 },
    "! secondary 10.0.0.53:53 does not follow k8s.example.com for 12 s: it has serial 7, this server 9",
  ],
  [
    { trouble: "silent", lagMs: 60_000 },
    "! secondary 10.0.0.53:53 does not follow k8s.example.com for 60 s: it answers no query",
  ],
  [
    { trouble: "lame", lagMs: 6_000, acknowledged: { atMs: NOW - 6_000, rcode: "NOTAUTH" } },
    "! secondary 10.0.0.53:53 does not follow k8s.example.com for 6 s: it answers, but does not have the zone; to NOTIFY it said NOTAUTH 6 s ago",
  ],
  // Every secondary is behind for a moment.
  [{ trouble: "behind", serial: 8, lagMs: 900 }, undefined],
  [{}, undefined],
] as const)("says what is wrong with one: %j", (change, line) => {
  expect(secondaryAlarms(statusWith([{ ...following, ...change }]))).toEqual(line === undefined ? [] : [line]);
});
