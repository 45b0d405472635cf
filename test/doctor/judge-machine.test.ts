import { expect, test } from "vitest";
import type { MachineLookup } from "../../src/doctor/facts.js";
import { judgeMachine, judgeResolvConf } from "../../src/doctor/judge-machine.js";

const NAME = "api.k8s.example.com";

function findingsFor(looked: MachineLookup, resolved: readonly string[] = ["192.0.2.11"]) {
  const known = new Map([[NAME, { addresses: new Set(["192.0.2.11", "192.0.2.12"]), resolved: new Set(resolved) }]]);
  return judgeMachine({ hostsFile: "/etc/hosts", endpoints: new Map([[NAME, looked]]) }, known);
}

const hostsLine = (address: string) => ({ line: 7, text: `${address} ${NAME}`, address });

test("a line of the hosts file is named, and which line to remove", () => {
  const [finding, ...others] = findingsFor({
    hosts: [hostsLine("192.0.2.11")],
    lookup: { addresses: ["192.0.2.11"] },
  });
  expect(others).toEqual([]);
  expect(finding).toMatchObject({ id: "hosts-file-pins", severity: "error", subject: "/etc/hosts" });
  expect(finding?.evidence).toBe(`line 7 is "192.0.2.11 ${NAME}".`);
  expect(finding?.remedy).toMatch(/^Remove line 7\./);
  expect(findingsFor({ hosts: [hostsLine("192.0.2.99")] })[0]?.evidence).toContain("192.0.2.99 is no target");
});

test.each([
  { name: "the same", lookup: { addresses: ["192.0.2.12"] }, resolved: ["192.0.2.11"], says: undefined },
  {
    name: "a stranger",
    lookup: { addresses: ["203.0.113.1"] },
    resolved: ["192.0.2.11"],
    says: "203.0.113.1 is no target",
  },
  { name: "nothing", lookup: { problem: "ENOTFOUND" }, resolved: ["192.0.2.11"], says: "ENOTFOUND" },
  { name: "nothing, as the resolvers do", lookup: { problem: "ENOTFOUND" }, resolved: [], says: undefined },
  {
    name: "a stranger that the resolvers give too",
    lookup: { addresses: ["203.0.113.1"] },
    resolved: ["203.0.113.1"],
    says: undefined,
  },
  { name: "not asked", lookup: undefined, resolved: ["192.0.2.11"], says: undefined },
])("getaddrinfo: $name", ({ lookup, resolved, says }) => {
  const found = findingsFor({ hosts: [], ...(lookup === undefined ? {} : { lookup }) }, resolved);
  expect(found.map(({ id }) => id)).toEqual(says === undefined ? [] : ["machine-resolves-otherwise"]);
  if (says !== undefined) expect(found[0]?.evidence).toContain(says);
});

test.each([
  { nameservers: ["192.0.2.1"], surplus: [], found: [] },
  { nameservers: [], surplus: [], found: ["warning resolv-conf-empty"] },
  {
    nameservers: ["192.0.2.1", "192.0.2.2", "192.0.2.3"],
    surplus: ["192.0.2.4"],
    found: ["note resolv-conf-surplus"],
  },
])("resolv.conf with $nameservers and $surplus", ({ nameservers, surplus, found }) => {
  const findings = judgeResolvConf({ file: "/etc/resolv.conf", nameservers, surplus });
  expect(findings.map(({ severity, id }) => `${severity} ${id}`)).toEqual(found);
});
