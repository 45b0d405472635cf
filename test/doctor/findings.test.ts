import { expect, test } from "vitest";
import { FINDINGS, list } from "../../src/doctor/finding.js";
import { renderReport } from "../../src/doctor/report.js";
import { textOf } from "../house-rules/source.js";
import { loadScenarios } from "./scenario.js";

/** Those that no resolver on a Debian machine can be made to give, each with a test of its own. */
const WITHOUT_SCENARIO = ["resolver-invents-answers"];

test("each finding has a scenario in which it is found", () => {
  const found = new Set(loadScenarios().flatMap((scenario) => scenario.expect.map(({ id }) => id as string)));
  expect(Object.keys(FINDINGS).filter((id) => !found.has(id))).toEqual(WITHOUT_SCENARIO);
});

test("each finding is documented, and no other", () => {
  const documented = [...textOf("docs/doctor.md").matchAll(/^\| `([a-z-]+)` \| ([^|]+) \|/gm)];
  expect(Object.fromEntries(documented.map(([, id = "", about = ""]) => [id, about.trim()]))).toEqual(FINDINGS);
});

test("list puts words together", () => {
  expect([list([]), list(["a"]), list(["a", "b"]), list(["a", "b", "c"])]).toEqual(["", "a", "a and b", "a, b and c"]);
});

const report = {
  healthy: false,
  findings: [
    {
      id: "glue-missing",
      severity: "error",
      subject: "ns2.k8s.example.com",
      evidence: "It was \u001b[2Jseen that a word follows another until the line is full.",
      meaning: "m",
      remedy: "r",
    },
  ],
  clients: [{ endpoint: "api.k8s.example.com", orders: [{ client: "Go", addresses: ["192.0.2.1"], how: "h" }] }],
  sources: [
    {
      endpoint: "api.k8s.example.com",
      sources: [
        { source: "config", targets: ["cp1"] },
        { source: "kubernetes:nodes", targets: [], heardAtMs: 0 },
      ],
    },
  ],
  looked: { nameservers: 2, resolvers: 1, targets: 3 },
} as const;

test("a report is broken between words, and coloured only if wanted", () => {
  const text = renderReport(report, { width: 30, colour: false });
  for (const line of text.split("\n").slice(1, 7)) expect(line.length).toBeLessThanOrEqual(30);
  expect(text).toMatch(/^error glue-missing: ns2\.k8s\.example\.com\n/);
  expect(text).toContain("Remedy: r");
  expect(text).toContain("Go dials 192.0.2.1 (h)");
  expect(renderReport(report, { colour: false })).toContain(
    "from kubernetes:nodes: none (livezone here heard it last at 1970-01-01T00:00:00.000Z)",
  );
  expect(text).toMatch(/broken: looked at 2 nameserver addresses, 1 resolver, 3 target addresses; 1 error\n$/);
  expect(text).not.toContain("\u001b");
  expect(renderReport(report, { colour: true })).toContain("\u001b[31merror\u001b[0m glue-missing");
});
