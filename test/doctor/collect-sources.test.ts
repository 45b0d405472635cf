import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { withProposed } from "../../src/doctor/collect-sources.js";
import { prepare } from "../../src/server/load-zones.js";
import { temporaryFolder } from "../support/temp.js";

test("what sources propose joins what is written; a source that cannot be read adds nothing", () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "livezone.yaml"), "zones: [zone.yaml]\n");
  writeFileSync(
    join(folder, "zone.yaml"),
    `zone: k8s.example.com
nameservers: { ns1: 192.0.2.53 }
endpoints:
  plain: { targets: { cp1: 192.0.2.11 } }
  api:
    targets: { first: 192.0.2.11 }
    maxTargets: 3
    discover: [{ type: file, path: a.json }, { type: file, path: b.json }]
`,
  );
  const [zone] = prepare(join(folder, "livezone.yaml")).config.zones;
  const candidates = ["cp1", "cp2", "cp3", "cp4"].map((id, i) => ({ id, addresses: [`192.0.2.${11 + i}`] }));
  const facts = [
    { source: "file:a.json", now: { candidates } },
    { source: "file:b.json", now: { problem: "gone" } },
  ];
  if (zone === undefined) throw new Error("no zone");
  const sourced = withProposed(zone, new Map([["api.k8s.example.com", facts]]), 7);
  expect(sourced.zone.endpoints.map(({ targets }) => targets.map(({ id }) => id))).toEqual([
    ["cp1"],
    ["first", "cp2", "cp3"],
  ]);
  const [api] = sourced.endpoints;
  expect([...(api?.origins ?? [])].map(([id, { origins }]) => [id, origins])).toEqual([
    ["first", ["config", "file:a.json"]],
    ["cp2", ["file:a.json"]],
    ["cp3", ["file:a.json"]],
  ]);
  expect(api?.notices).toEqual([expect.stringContaining("maxTargets is 3")]);
  expect(sourced.endpoints).toHaveLength(1);
});
