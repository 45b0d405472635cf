import { describe, expect, test } from "vitest";
import { DnsSource } from "../../src/discovery/dns-source.js";
import { FileSource } from "../../src/discovery/file-source.js";
import { KubernetesSource } from "../../src/discovery/kubernetes/kubernetes-source.js";
import { createOpenSource, loadSource } from "../../src/server/discovery-sources.js";
import { createFakeClock } from "../support/fake-clock.js";

const position = { file: "zone.yaml", line: 1, column: 1 };
// Only kubernetes looks at it, and only when it runs.
const surroundings = { endpoint: undefined as never, zone: "k8s.example.com", servers: () => [] };
const parts = { clock: createFakeClock(), random: () => 0 };
const file = { type: "file", name: "a", position, path: "/none" } as const;

describe("each type has its source", () => {
  test("file", async () => {
    expect(await loadSource(parts, file, surroundings)).toBeInstanceOf(FileSource);
  });
  test("dns", async () => {
    const server = { address: "192.0.2.53", port: 53 };
    const config = { type: "dns", name: "a", position, query: "a", server, intervalMs: 1, records: ["A"] } as const;
    expect(await loadSource(parts, config, surroundings)).toBeInstanceOf(DnsSource);
  });
  test("kubernetes", async () => {
    const config = { type: "kubernetes", name: "a", position, resource: "nodes", addressType: "InternalIP" } as const;
    expect(await loadSource(parts, { ...config, honorCordon: false }, surroundings)).toBeInstanceOf(KubernetesSource);
  });
});

test("a source that is stopped before its code is loaded says nothing", async () => {
  const source = createOpenSource(parts)(file, surroundings);
  const heard: string[] = [];
  source.start({
    proposed: () => heard.push("proposed"),
    confirmed: () => heard.push("confirmed"),
    failed: () => heard.push("failed"),
    credentialRead: () => {},
  });
  source.stop();
  for (let turn = 0; turn < 50; turn += 1) await parts.clock.advance(100);
  expect(heard).toEqual([]);
});
