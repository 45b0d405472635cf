import { describe, expect, test } from "vitest";
import type { EndpointView, Status } from "../../src/admin/schemas.js";
import { paletteOf } from "../../src/cli/output.js";
import { originLines, sourceAlarms, sourceTable } from "../../src/cli/source-table.js";

const NOW = 1_796_000_000_000;
const DAY = 86_400_000;
const palette = paletteOf({ isTTY: false, write: () => {} });

type SourceView = NonNullable<EndpointView["discovery"]>["sources"][number];

const fresh: SourceView = { source: "kubernetes:nodes", state: "ok", candidates: 3, heardAtMs: NOW - 2_000 };

function endpointWith(
  source: Partial<SourceView>,
  more: Partial<NonNullable<EndpointView["discovery"]>> = {},
): EndpointView {
  const target = (id: string, origins: string[]) => ({ id, origins, addresses: [] });
  return {
    ...{
      endpoint: "api.k8s.example.com",
      port: 6443,
      ttl: 5,
      mode: "healthy",
      upTargets: 3,
      minHealthy: 1,
      answers: [],
    },
    targets: [
      target("cp1", ["config"]),
      target("cp2", ["config", "kubernetes:nodes"]),
      target("cp3", ["kubernetes:nodes"]),
    ],
    discovery: { sources: [{ ...fresh, ...source }], unconfirmed: [], ignored: 0, ...more },
  };
}

describe("what is wrong with a source", () => {
  const rows: readonly (readonly [name: string, endpoint: EndpointView, says: readonly string[]])[] = [
    ["nothing", endpointWith({}), []],
    [
      "it fails",
      endpointWith({ state: "failing", problem: "401", heardAtMs: NOW - DAY }),
      ["failing, heard 24 h ago: 401"],
    ],
    ["it proposes nothing", endpointWith({ state: "empty" }), ["proposes nothing, which removes nothing"]],
    [
      "its credential ends",
      endpointWith({ credentialEndsAtMs: NOW + 3 * DAY, credentialRenewFromMs: NOW }),
      ["has a credential that ends in 3 d: renew it"],
    ],
    [
      "its credential ends later",
      endpointWith({ credentialEndsAtMs: NOW + 3 * DAY, credentialRenewFromMs: NOW + 1 }),
      [],
    ],
    [
      "its credential has ended",
      endpointWith({ credentialEndsAtMs: NOW - DAY, credentialRenewFromMs: 1 }),
      ["has a credential that ended 24 h ago: renew it"],
    ],
  ];
  test.each(rows)("%s", (_, endpoint, says) => {
    expect(sourceAlarms(endpoint, NOW)).toEqual(says.map((text) => `! api.k8s.example.com: kubernetes:nodes ${text}`));
  });

  test("what it proposes and no probe confirms, what it proposes no more, and what is left out", () => {
    const endpoint = endpointWith({}, { unconfirmed: ["cp2"], ignored: 7 });
    const targets = endpoint.targets.map((target) => ({ ...target, goneSinceMs: 1 }));
    expect(sourceAlarms({ ...endpoint, targets }, NOW)).toEqual([
      "! api.k8s.example.com: proposed, but not up: cp2",
      "! api.k8s.example.com: no source proposes any more: cp1, cp2, cp3",
      "! api.k8s.example.com: 7 targets left out, more than maxTargets",
    ]);
  });
});

test("each source has a line with its freshness and the targets that came from it", () => {
  const zones = [{ zone: "k8s.example.com", serial: 1, endpoints: [endpointWith({ credentialEndsAtMs: NOW + DAY })] }];
  const lines = sourceTable({ zones, nowMs: NOW } as unknown as Status, palette);
  expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
    ["ENDPOINT", "SOURCE", "STATE", "HEARD", "PROPOSES", "CREDENTIAL", "ITS TARGETS"],
    ["api.k8s.example.com", "kubernetes:nodes", "ok", "2 s ago", "3", "24 h left", "cp2, cp3"],
  ]);
  expect(sourceTable({ zones: [], nowMs: NOW } as unknown as Status, palette)).toEqual([]);
});

test("a target says where it comes from", () => {
  const target = { id: "cp1", addresses: [] };
  expect(originLines(target, NOW)).toEqual([]);
  expect(originLines({ ...target, origins: ["config", "file:t"] }, NOW)).toEqual(["from config, file:t"]);
  expect(originLines({ ...target, origins: ["file:t"], goneSinceMs: NOW - DAY }, NOW)).toEqual([
    "from file:t, which proposes it no more since 24 h",
  ]);
});
