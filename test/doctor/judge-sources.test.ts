import { describe, expect, test } from "vitest";
import type { SourceFacts, TargetFacts } from "../../src/doctor/facts.js";
import { isUnconfirmed, judgeSources } from "../../src/doctor/judge-sources.js";
import type { ResultClass } from "../../src/health/health.js";

const NOW = 1_796_000_000_000;
const DAY = 86_400_000;
const candidates = [{ id: "cp2", addresses: ["192.0.2.12"] }];
const origins = new Map([
  ["cp1", { origins: ["config", "k"] }],
  ["cp2", { origins: ["k"] }],
]);

const probed = (target: string, resultClass: ResultClass): TargetFacts => ({
  ...{ target, address: "192.0.2.12", port: 6443 },
  result: { class: resultClass, reason: "as the probe says", durationMs: 1 },
});

function findings(facts: Omit<SourceFacts, "source">, targets: readonly TargetFacts[] = [], notices: string[] = []) {
  const endpoint = { fqdn: "api.k8s.example.com", sources: [{ source: "k", ...facts }], origins, notices };
  return judgeSources(endpoint, targets, NOW).map(({ id, evidence }) => `${id}: ${evidence}`);
}

describe("a source of targets", () => {
  const rows: readonly (readonly [string, Omit<SourceFacts, "source">, readonly RegExp[]])[] = [
    ["that is well", { now: { candidates } }, []],
    ["that the server hears", { now: { candidates }, server: { state: "ok", heardAtMs: NOW } }, []],
    ["that cannot be read", { now: { problem: "403" } }, [/^source-unreadable: .*from here: 403\.$/]],
    [
      "that neither reads",
      { now: { problem: "403" }, server: { state: "failing", heardAtMs: NOW - 60_000, problem: "401" } },
      [/^source-unreadable: .*heard it 60 s ago and cannot read it now\.$/],
    ],
    [
      "that the server has not heard",
      { now: { candidates }, server: { state: "starting" } },
      [/^source-stale: .*has not heard it since it started\.$/],
    ],
    ["that proposes nothing", { now: { candidates: [] } }, [/^source-empty/]],
    ["whose credential holds", { now: { candidates, credential: { endsAtMs: NOW + DAY, warnFromMs: NOW + 1 } } }, []],
    [
      "whose credential ends soon",
      { now: { candidates, credential: { endsAtMs: NOW + DAY, warnFromMs: NOW } } },
      [/^source-credential-ends: Its credential ends at /],
    ],
  ];
  test.each(rows)("%s", (_, facts, says) => {
    expect(findings(facts)).toEqual(says.map((pattern) => expect.stringMatching(pattern)));
  });

  test("that proposes what cannot be used", () => {
    expect(findings({ now: { candidates } }, [], ["cp9 is a name"])).toEqual(["source-unusable: cp9 is a name."]);
  });

  test("that proposes what no probe confirms: one finding, with the first of them", () => {
    const many = Array.from({ length: 12 }, () => probed("cp2", "refused"));
    const [found] = findings({ now: { candidates } }, [probed("cp1", "refused"), ...many]);
    expect(found).toMatch(/^source-unconfirmed: cp2 \(192.0.2.12, from k\): as the probe says, .* and 2 more\.$/);
  });
});

test("what is written, and what its certificate shows to be an apiserver of this cluster, is judged as a target", () => {
  const isLeft = (target: string, resultClass: ResultClass) => isUnconfirmed({ origins }, probed(target, resultClass));
  expect(isLeft("cp1", "refused")).toBe(false);
  expect(isLeft("cp2", "refused")).toBe(true);
  expect(isLeft("cp2", "tls-untrusted")).toBe(true);
  expect(isLeft("cp2", "ok")).toBe(false);
  expect(isLeft("cp2", "auth-required")).toBe(false);
});
