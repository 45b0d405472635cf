import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { discoverySettings } from "../../src/cli/kubeadm-discovery.js";
import type { EndpointConfig } from "../../src/config/config.js";

function settings(resources: readonly string[]) {
  const sources = resources.map((resource) => ({ type: "kubernetes", resource }));
  const targets = [{ id: "cp1", addresses: ["2001:db8::1"] }];
  const discover = resources.length === 0 ? {} : { discover: { sources } };
  // Only these parts are read.
  const endpoint = { fqdn: "api.k8s.example.com", port: 6443, targets, ...discover } as unknown as EndpointConfig;
  const text = discoverySettings(endpoint);
  return { text, objects: parseAllDocuments(text).map((document) => document.toJS()) };
}

describe("what Kubernetes needs for discovery", () => {
  test("is list and watch of Nodes unless another resource is configured", () => {
    const { text, objects } = settings([]);
    expect(objects.map(({ kind }) => kind)).toEqual(["ServiceAccount", "ClusterRole", "ClusterRoleBinding"]);
    expect(objects[1].rules).toEqual([{ apiGroups: [""], resources: ["nodes"], verbs: ["list", "watch"] }]);
    expect(objects[2].roleRef.name).toBe(objects[1].metadata.name);
    expect(text).toContain("--server=https://[2001:db8::1]:6443");
  });

  test("of namespaced resources holds for their namespace alone", () => {
    const { objects } = settings(["pods", "endpointslices", "pods"]);
    const roles = objects.filter(({ kind }) => kind === "Role");
    expect(roles.map(({ metadata, rules }) => [metadata.namespace, rules[0].apiGroups, rules[0].resources])).toEqual([
      ["kube-system", [""], ["pods"]],
      ["default", ["discovery.k8s.io"], ["endpointslices"]],
    ]);
    expect(objects.some(({ kind }) => kind.startsWith("Cluster"))).toBe(false);
  });
});
