import { describe, expect, test } from "vitest";
import type { Status } from "../../src/admin/schemas.js";
import { formatAge, paletteOf, plain } from "../../src/cli/output.js";
import { statusTable } from "../../src/cli/status-table.js";

const NOW = 1_796_000_000_000;
const palette = paletteOf({ isTTY: false, write: () => {} });

function statusWith(change: Partial<Status> = {}): Status {
  const result = (reason: string) => ({ class: "ok" as const, reason, durationMs: 1 });
  return {
    version: "1.2.3",
    nowMs: NOW,
    startedMs: NOW - 3 * 3_600_000,
    ready: true,
    isolated: false,
    writable: true,
    lastReload: { atMs: NOW, ok: true },
    lastEventId: "a-0",
    zones: [
      {
        zone: "k8s.example.com",
        serial: 1,
        endpoints: [
          {
            endpoint: "api.k8s.example.com",
            port: 6443,
            ttl: 5,
            mode: "healthy",
            upTargets: 2,
            minHealthy: 1,
            answers: ["192.0.2.11"],
            targets: [
              {
                id: "cp1",
                addresses: [
                  {
                    address: "192.0.2.11",
                    health: "up",
                    sinceMs: NOW - 5_000,
                    answered: true,
                    last: result("HTTP 200"),
                  },
                  { address: "2001:db8::11", health: "unknown", sinceMs: NOW, answered: false },
                ],
              },
              {
                id: "cp2",
                override: {
                  kind: "drained",
                  reason: "disk",
                  author: "bob",
                  setAtMs: NOW - 60_000,
                  expiresAtMs: NOW + 600_000,
                },
                addresses: [
                  {
                    address: "192.0.2.12",
                    health: "down",
                    sinceMs: NOW - 86_400_000 * 3,
                    answered: false,
                    last: result("etcd\nnot ready"),
                  },
                ],
              },
              {
                id: "cp3",
                addresses: [
                  {
                    address: "192.0.2.13",
                    health: "down",
                    sinceMs: NOW - 86_400_000 * 3,
                    answered: false,
                    last: result("refused"),
                  },
                ],
              },
            ],
          },
        ],
      },
    ],
    ...change,
  };
}

describe("the table of livezone status", () => {
  test("has a line for each address", () => {
    expect(statusTable(statusWith(), { palette })).toBe(
      [
        "livezone 1.2.3, answering, running for 3 h: 1 of 1 endpoint healthy",
        "! api.k8s.example.com: 2 of 2 targets up, 1 drained: cp1 is unknown at 2001:db8::11, cp3 is down",
        "",
        "ENDPOINT             TARGET  ADDRESS       HEALTH   SINCE  ANSWERED  OVERRIDE               OPERATOR    LAST PROBE",
        "api.k8s.example.com  cp1     192.0.2.11    up       5 s    yes       -                      -           HTTP 200",
        "api.k8s.example.com  cp1     2001:db8::11  unknown  0 s    no        -                      -           no result yet",
        "api.k8s.example.com  cp2     192.0.2.12    down     3 d    no        drained (10 min left)  disk (bob)  etcd not ready",
        "api.k8s.example.com  cp3     192.0.2.13    down     3 d    no        -                      -           refused",
        "",
      ].join("\n"),
    );
  });

  test("shows a disabled target as such, and does not count it", () => {
    const status = statusWith();
    const [first, second, third] = status.zones[0]?.endpoints[0]?.targets ?? [];
    const targets = [{ ...first, addresses: first?.addresses.slice(0, 1) }, second, { ...third, disabled: true }];
    const endpoints = [{ ...status.zones[0]?.endpoints[0], upTargets: 1, targets }];
    const text = statusTable({ ...status, zones: [{ ...status.zones[0], endpoints }] } as Status, { palette });
    expect(text).toMatch(/cp3 +192\.0\.2\.13 +disabled +3 d +no +-/);
    expect(text).not.toMatch(/^!/m);
  });

  test("leaves out what repeats, and cuts, on a terminal", () => {
    const lines = statusTable(statusWith(), { palette, width: 112 }).split("\n").slice(4, 8);
    expect(lines[1]).toMatch(/^ {21} {8}2001:db8::11/);
    expect(lines[2]).toMatch(/ disk \(bo… {2}etcd not…$/);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(112);
  });

  test.each([
    [{ isolated: true }, /^! the prober seems cut off/m],
    [
      { clockSuspect: true },
      /^! no certificate is valid yet: the server's clock is suspect, it says \d{4}-\d\d-\d\dT\d\d:\d\dZ$/m,
    ],
    [{ lastReload: { atMs: NOW, ok: false } }, /^! the reload at \d\d:\d\d:\d\d was refused/m],
    [{ ready: false }, /waiting for the first round/],
    [
      { needRestart: [{ setting: "admin.http", running: "127.0.0.1:9853" }] },
      /^! admin\.http needs a restart: it is 127\.0\.0\.1:9853 now, and not set from then on$/m,
    ],
    [{ zones: [] }, /0 of 0 endpoints healthy/],
  ])("makes %j loud", (change, line) => {
    expect(statusTable(statusWith(change), { palette })).toMatch(line);
  });

  test.each([
    ["fail-open", "! api.k8s.example.com fails open: 0 targets up, 1 drained, 1 needed; it answers 1 by whenAllDown"],
    ["none", "! api.k8s.example.com is empty: 0 targets up, 1 drained, 1 needed; it answers nothing"],
  ] as const)("says first that an endpoint is %s", (mode, line) => {
    const status = statusWith();
    const zones = status.zones.map((zone) => ({
      ...zone,
      endpoints: zone.endpoints.map((endpoint) => ({ ...endpoint, mode, upTargets: 0 })),
    }));
    expect(statusTable({ ...status, zones }, { palette }).split("\n")[1]).toBe(line);
  });
});

test.each([
  [0, "0 s"],
  [119_000, "119 s"],
  [120_000, "2 min"],
  [7_200_000, "2 h"],
  [172_800_000, "2 d"],
  [-5, "0 s"],
])("%d ms are %s", (ms, text) => {
  expect(formatAge(ms)).toBe(text);
});

test("what comes from elsewhere moves no cursor", () => {
  expect(plain("a\x1b[2Jb\u202ec\nd")).toBe("a [2Jb c d");
});

test("colours are for terminals that want them", () => {
  const terminal = { isTTY: true, write: () => {} };
  expect(paletteOf(terminal, undefined).good("x")).toBe("\x1b[32mx\x1b[0m");
  expect(paletteOf(terminal, "").good("x")).toBe("\x1b[32mx\x1b[0m");
  expect(paletteOf(terminal, "1").good("x")).toBe("x");
  expect(paletteOf({ isTTY: false, write: () => {} }, undefined).good("x")).toBe("x");
});
