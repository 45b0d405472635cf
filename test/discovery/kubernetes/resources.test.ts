import { describe, expect, test } from "vitest";
import type { KubernetesSourceConfig } from "../../../src/config/discovery.js";
import { ADVERTISE_ANNOTATION, EXCLUDE_LABEL, resourceOf } from "../../../src/discovery/kubernetes/resources.js";
import { nodeObject } from "../api-server.js";

const config: KubernetesSourceConfig = {
  ...{ type: "kubernetes", name: "kubernetes:nodes", position: { file: "z", line: 1, column: 1 } },
  ...{ resource: "nodes", addressType: "InternalIP", honorCordon: false },
};

const read = (object: unknown, more: Partial<KubernetesSourceConfig> = {}) =>
  resourceOf({ ...config, ...more }).read(object);

describe("a Node", () => {
  test("is a candidate with the addresses of one type", () => {
    const node = { ...nodeObject("cp1", "192.0.2.1") };
    expect(read(node)?.candidates).toEqual([{ id: "cp1", addresses: ["192.0.2.1"] }]);
    expect(read(node, { addressType: "ExternalIP" })).toMatchObject({ candidates: [], notices: [{}] });
  });

  test("is drained by its label whatever that says, and by a cordon where it is honoured", () => {
    const labelled = nodeObject("cp1", "192.0.2.1", { labels: { [EXCLUDE_LABEL]: "false" } });
    const cordoned = nodeObject("cp1", "192.0.2.1", { unschedulable: true });
    expect(read(labelled)?.candidates[0]?.drain).toContain(EXCLUDE_LABEL);
    expect(read(cordoned)?.candidates[0]).not.toHaveProperty("drain");
    expect(read(cordoned, { honorCordon: true })?.candidates[0]?.drain).toContain("cordoned");
  });

  test.each([null, 7, [], {}, { metadata: null }, { metadata: { name: 7 } }, { metadata: { name: "" } }])(
    "%j is none",
    (object) => expect(read(object)).toBeUndefined(),
  );

  test("with absurd parts loses no more than these", () => {
    const node = {
      metadata: { name: "cp1", labels: 7 },
      spec: "x",
      status: { addresses: [7, { type: "InternalIP" }, { type: "InternalIP", address: "192.0.2.1" }] },
    };
    expect(read(node)?.candidates).toEqual([{ id: "cp1", addresses: ["192.0.2.1"] }]);
  });
});

describe("kubeadm's static Pod", () => {
  const pod = (endpoint: unknown) => ({
    metadata: { name: "kube-apiserver-cp1", annotations: { [ADVERTISE_ANNOTATION]: endpoint } },
    spec: { nodeName: "cp1.example.com" },
  });
  const rows = [
    { endpoint: "192.0.2.1:6443", addresses: ["192.0.2.1"], port: 6443 },
    { endpoint: "[2001:db8::1]:443", addresses: ["2001:db8::1"], port: 443 },
  ] as const;
  test.each(rows)("advertises $endpoint", ({ endpoint, addresses, port }) => {
    expect(read(pod(endpoint), { resource: "pods" })?.candidates).toEqual([{ id: "cp1.example.com", addresses, port }]);
  });

  test.each([undefined, 7, "x", "192.0.2.1"])("without a usable annotation (%j) is told", (endpoint) => {
    expect(read(pod(endpoint), { resource: "pods" })).toMatchObject({ candidates: [], notices: [{}] });
  });
});

describe("an EndpointSlice", () => {
  test("is a candidate for each address, at the port called https", () => {
    const slice = {
      metadata: { name: "kubernetes" },
      endpoints: [{ addresses: ["192.0.2.1"] }, { addresses: ["192.0.2.2"], conditions: { ready: false } }, 7],
      ports: [
        { name: "other", port: 1 },
        { name: "https", port: 6443 },
      ],
    };
    expect(read(slice, { resource: "endpointslices" })?.candidates).toMatchObject([
      { id: "ip-192-0-2-1", addresses: ["192.0.2.1"], port: 6443 },
      { id: "ip-192-0-2-2" },
    ]);
    const empty = { metadata: { name: "kubernetes" }, endpoints: null };
    expect(read(empty, { resource: "endpointslices" })?.candidates).toEqual([]);
  });
});

test("each resource has its collection and selector", () => {
  const of = (resource: KubernetesSourceConfig["resource"], selector?: string) => {
    const { path, selector: used } = resourceOf({
      ...config,
      resource,
      ...(selector === undefined ? {} : { selector }),
    });
    return `${path} ${used}`;
  };
  expect(of("nodes")).toBe("/api/v1/nodes node-role.kubernetes.io/control-plane");
  expect(of("pods")).toBe("/api/v1/namespaces/kube-system/pods component=kube-apiserver,tier=control-plane");
  expect(of("endpointslices", "a=b")).toBe("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices a=b");
});
