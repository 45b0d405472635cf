import { describe, expect, test } from "vitest";
import type { EndpointConfig } from "../../src/config/config.js";
import type { NamedServer } from "../../src/doctor/facts.js";
import { judgeClientFiles, namesToLookUp, parseServer } from "../../src/doctor/judge-client-files.js";

const endpoint = {
  fqdn: "api.k8s.example.com",
  port: 6443,
  targets: [
    { id: "cp1", addresses: ["192.0.2.11", "2001:db8::11"] },
    { id: "cp2", addresses: ["192.0.2.12"] },
  ],
} as unknown as EndpointConfig;

const ADDRESSES = new Map([
  ["master2.example.com", ["192.0.2.12"]],
  ["masters.example.com", ["192.0.2.11", "192.0.2.12"]],
  ["other.example.com", ["198.51.100.1"]],
  ["lost.example.com", undefined],
]);

function findingsFor(server: string, form: NamedServer["form"] = "url") {
  const files = [{ file: "f", servers: [{ place: "the server of cluster c", server, form }] }];
  return judgeClientFiles(files, [endpoint], ADDRESSES);
}

const cases = [
  { server: "https://api.k8s.example.com:6443", found: undefined },
  { server: "https://API.k8s.example.com.:6443/", found: undefined },
  {
    server: "https://api.k8s.example.com",
    found: "error endpoint-url-wrong",
    says: "no port, so clients take 443, not 6443",
  },
  { server: "https://api.k8s.example.com:6444", found: "error endpoint-url-wrong", says: "the port is 6444, not 6443" },
  { server: "http://api.k8s.example.com:6443", found: "error endpoint-url-wrong", says: "the scheme is http" },
  {
    server: "http://api.k8s.example.com",
    found: "error endpoint-url-wrong",
    says: "http, not https and it has no port, so clients take 80",
  },
  { server: "api.k8s.example.com:6443", found: "warning endpoint-url-wrong", says: "it has no scheme" },
  { server: "api.k8s.example.com", found: "error endpoint-url-wrong", says: "no scheme and it has no port" },
  { server: "https://192.0.2.11:6443", found: "error raw-address", says: "the target cp1 alone" },
  { server: "https://[2001:db8::11]:6443", found: "error raw-address", says: "the target cp1 alone" },
  { server: "192.0.2.11", found: "error raw-address", says: "the target cp1 alone" },
  { server: "https://198.51.100.1:6443", found: "error raw-address", says: "is https://198.51.100.1:6443." },
  { server: "https://127.0.0.1:6444", found: "warning raw-address", says: "on the machine itself" },
  { server: "https://[::1]:6444", found: "warning raw-address", says: "on the machine itself" },
  { server: "https://localhost:7445", found: "warning raw-address", says: "on the machine itself" },
  { server: "https://cp1.api.k8s.example.com:6443", found: "error endpoint-bypassed", says: "the target cp1 alone" },
  { server: "https://master2.example.com:6443", found: "error endpoint-bypassed", says: "the target cp2 alone" },
  { server: "https://masters.example.com:6443", found: "warning endpoint-bypassed", says: "the targets cp1 and cp2." },
  {
    server: "https://other.example.com:6443",
    found: "note endpoint-bypassed",
    says: "198.51.100.1, which is no target",
  },
  { server: "https://lost.example.com:6443", found: "warning endpoint-bypassed", says: "cannot be resolved here" },
  { server: "no URL", found: undefined },
] as const;

test.each(cases)("a kubeconfig with server: $server", ({ server, found, ...says }) => {
  const findings = findingsFor(server);
  expect(findings.map(({ severity, id }) => `${severity} ${id}`)).toEqual(found === undefined ? [] : [found]);
  if ("says" in says) expect(findings[0]?.evidence).toContain(says.says);
  if (found !== undefined) expect(findings[0]?.remedy).toContain("server: https://api.k8s.example.com:6443");
});

test("the remedy is in the file's own words", () => {
  expect(findingsFor("https://192.0.2.11:6443", "helm")[0]?.remedy).toContain(
    "k8sServiceHost: api.k8s.example.com and k8sServicePort: 6443",
  );
  expect(findingsFor("https://192.0.2.11:6443", "variables")[0]?.remedy).toContain(
    "KUBERNETES_SERVICE_HOST to api.k8s.example.com",
  );
});

test("which kubelet may keep an address is said by version, not by a feature gate", () => {
  const remedy = findingsFor("https://192.0.2.11:6443")[0]?.remedy;
  expect(remedy).toContain("always since Kubernetes 1.36");
  expect(remedy).not.toMatch(/gate|LocalMode/i);
});

test("names are looked up once, and only those that are not known", () => {
  const servers = cases.map(({ server }) => ({ place: "p", server, form: "url" }) as const);
  expect(namesToLookUp([{ file: "f", servers: [...servers, ...servers] }], [endpoint])).toEqual([
    "cp1.api.k8s.example.com",
    "master2.example.com",
    "masters.example.com",
    "other.example.com",
    "lost.example.com",
  ]);
});

describe("parseServer", () => {
  test.each([
    ["https://a.example:1/x", { scheme: "https", host: "a.example", port: 1, isPortWritten: true }],
    ["HTTP://A.example.", { scheme: "http", host: "a.example", port: 80, isPortWritten: false }],
    ["[2001:db8::1]:6443", { host: "2001:db8::1", port: 6443, isPortWritten: true }],
    ["", undefined],
    ["https://", undefined],
    ["https://a b", undefined],
  ])("%s", (text, expected) => {
    expect(parseServer(text)).toEqual(expected);
  });
});
