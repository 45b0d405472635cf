import { describe, expect, test } from "vitest";
import { DnsSource } from "../../src/discovery/dns-source.js";
import { FileSource } from "../../src/discovery/file-source.js";
import { KubernetesSource } from "../../src/discovery/kubernetes/kubernetes-source.js";
import { createOpenSource } from "../../src/server/discovery-sources.js";
import { createFakeClock } from "../support/fake-clock.js";

const position = { file: "zone.yaml", line: 1, column: 1 };
// Only kubernetes looks at it, and only when it runs.
const surroundings = { endpoint: undefined as never, zone: "k8s.example.com", servers: () => [] };

describe("each type has its source", () => {
  const open = createOpenSource({ clock: createFakeClock(), random: () => 0 });
  test("file", () => {
    expect(open({ type: "file", name: "a", position, path: "/t" }, surroundings)).toBeInstanceOf(FileSource);
  });
  test("dns", () => {
    const server = { address: "192.0.2.53", port: 53 };
    const config = { type: "dns", name: "a", position, query: "a", server, intervalMs: 1, records: ["A"] } as const;
    expect(open(config, surroundings)).toBeInstanceOf(DnsSource);
  });
  test("kubernetes", () => {
    const config = { type: "kubernetes", name: "a", position, resource: "nodes", addressType: "InternalIP" } as const;
    expect(open({ ...config, honorCordon: false }, surroundings)).toBeInstanceOf(KubernetesSource);
  });
});
