import { describe, expect, test } from "vitest";
import { buildZone } from "../../src/zone/build.js";
import { zoneConfig } from "../answers/serve.js";

const problemsOf = (records: string) =>
  buildZone(zoneConfig({ zone: "k8s.example.com", records, endpoints: { api: { cp1: ["192.0.2.11"] } } }));

describe("a record that leads to no name of the zone is warned of", () => {
  test("an absolute name without its final dot, with what was meant", () => {
    const { problems, zone } = problemsOf("a 5 A 192.0.2.1\ndocs 5 CNAME www.example.com\n");
    expect(problems).toMatchObject([
      {
        severity: "warning",
        code: "RECORD_TARGET_MISSING",
        line: 101,
        message: "docs.k8s.example.com. CNAME leads to www.example.com.k8s.example.com., which does not exist",
        remedy: "If www.example.com is meant, end it with a dot: www.example.com.",
      },
    ]);
    expect(zone).toBeDefined();
  });

  test.each([
    ["CNAME", "a 5 CNAME wwv"],
    ["MX", "@ 5 MX 10 mail"],
    ["SRV", "_x._tcp 5 SRV 0 0 1 nobody"],
    ["NS of a child", "child 5 NS ns.elsewhere"],
  ])("%s", (_type, line) => {
    expect(problemsOf(`${line}\n`).problems).toMatchObject([{ code: "RECORD_TARGET_MISSING", severity: "warning" }]);
  });

  test("each of several, at its own line", () => {
    const { problems } = problemsOf("@ 5 MX 10 mail\n@ 5 MX 20 mail.elsewhere.example.\n@ 5 MX 30 post\n");
    expect(problems.map(({ line }) => line)).toEqual([100, 102]);
  });

  test.each([
    ["a record", "a 5 A 192.0.2.1\nb 5 CNAME a"],
    ["in other letters", "a 5 A 192.0.2.1\nb 5 CNAME A"],
    ["an endpoint", "b 5 CNAME api"],
    ["an endpoint's target", "b 5 CNAME cp1.api"],
    ["a name server", "b 5 CNAME ns1"],
    ["the apex", "b 5 CNAME @"],
    ["an empty non-terminal", "x.y 5 A 192.0.2.1\nb 5 CNAME y"],
    ["a wildcard", "*.w 5 A 192.0.2.1\nb 5 CNAME any.thing.w"],
    ["another zone", "b 5 CNAME www.example.com."],
    ["a name below a cut", "child 5 NS ns.child\nns.child 5 A 192.0.2.1\nb 5 CNAME www.child"],
    ["nowhere on purpose", "_x._tcp 5 SRV 0 0 0 ."],
  ])("but not one that leads to %s", (_name, records) => {
    expect(problemsOf(`${records}\n`).problems).toEqual([]);
  });
});
