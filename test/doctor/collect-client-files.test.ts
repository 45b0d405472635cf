import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readClientFile } from "../../src/doctor/collect-client-files.js";
import { temporaryFolder } from "../support/temp.js";

function fileWith(text: string): string {
  const file = join(temporaryFolder(), "file");
  writeFileSync(file, text);
  return file;
}

const KUBECONFIG = `apiVersion: v1
kind: Config
clusters:
  - name: kubernetes
    cluster: { server: "https://192.0.2.11:6443" }
`;

const indented = (text: string) => text.replace(/^/gm, "    ");

const KUBE_PROXY_MAP = `apiVersion: v1
kind: ConfigMap
metadata: { name: kube-proxy, namespace: kube-system }
data:
  config.conf: |
    kind: KubeProxyConfiguration
    clientConnection: { kubeconfig: /var/lib/kube-proxy/kubeconfig.conf }
  kubeconfig.conf: |
${indented(KUBECONFIG)}`;

const CILIUM = `apiVersion: apps/v1
kind: DaemonSet
metadata: { name: cilium }
spec:
  template:
    spec:
      initContainers:
        - name: config
          env: [{ name: KUBERNETES_SERVICE_HOST, value: "192.0.2.11" }, { name: KUBERNETES_SERVICE_PORT, value: "6443" }]
      containers:
        - name: cilium-agent
          env:
            - { name: K8S_NODE_NAME, valueFrom: { fieldRef: { fieldPath: spec.nodeName } } }
            - { name: KUBERNETES_SERVICE_HOST, value: "192.0.2.11" }
            - { name: KUBERNETES_SERVICE_PORT, value: "6443" }
`;

const url = "https://192.0.2.11:6443";
const variables = "KUBERNETES_SERVICE_HOST of DaemonSet cilium";

describe("readClientFile", () => {
  test.each([
    { name: "a kubeconfig", text: KUBECONFIG, servers: [["the server of cluster kubernetes", url]] },
    { name: "kube-proxy's ConfigMap", text: KUBE_PROXY_MAP, servers: [["the server of cluster kubernetes", url]] },
    { name: "Cilium's DaemonSet, told once", text: CILIUM, servers: [[variables, url]] },
    {
      name: "a list as kubectl prints it",
      text: `kind: List\nitems:\n  -\n${indented(CILIUM)}`,
      servers: [[variables, url]],
    },
    {
      name: "several documents",
      text: `${KUBECONFIG}---\n${CILIUM}`,
      servers: [
        ["the server of cluster kubernetes", url],
        [variables, url],
      ],
    },
    {
      name: "Cilium's Helm values",
      text: "kubeProxyReplacement: true\nk8sServiceHost: 192.0.2.11\nk8sServicePort: 6443\n",
      servers: [["k8sServiceHost", url]],
    },
    {
      name: "Helm values of a subchart, without a port",
      text: 'cilium: { k8sServiceHost: "2001:db8::11" }\n',
      servers: [["cilium.k8sServiceHost", "https://[2001:db8::11]"]],
    },
    {
      name: "Cilium's ConfigMap with addresses",
      text: `kind: ConfigMap\nmetadata: { name: cilium-config }\ndata: { k8s-api-server-urls: "${url} https://192.0.2.12:6443" }\n`,
      servers: [
        ["k8s-api-server-urls of ConfigMap cilium-config", url],
        ["k8s-api-server-urls of ConfigMap cilium-config", "https://192.0.2.12:6443"],
      ],
    },
    {
      name: "the ConfigMap of Calico's operator",
      text: 'kind: ConfigMap\nmetadata: { name: kubernetes-services-endpoint }\ndata: { KUBERNETES_SERVICE_HOST: 192.0.2.11, KUBERNETES_SERVICE_PORT: "6443" }\n',
      servers: [["KUBERNETES_SERVICE_HOST of ConfigMap kubernetes-services-endpoint", url]],
    },
  ])("reads $name", ({ text, servers }) => {
    const read = readClientFile(fileWith(text));
    expect(read).toMatchObject({ servers: servers.map(([place, server]) => ({ place, server })) });
  });

  test("follows kube-proxy's configuration to its kubeconfig", () => {
    const kubeconfig = fileWith(KUBECONFIG);
    const file = fileWith(`kind: KubeProxyConfiguration\nclientConnection: { kubeconfig: ${kubeconfig} }\n`);
    expect(readClientFile(file)).toMatchObject({ servers: [{ server: url }] });
  });

  test.each([
    { name: "no YAML", text: "a: [\n", says: "cannot be read" },
    { name: "something else", text: "a: b\n", says: "is not a kubeconfig" },
    { name: "an empty file", text: "", says: "is not a kubeconfig" },
    { name: "Cilium that looks for itself", text: "k8sServiceHost: auto\n", says: "is not a kubeconfig" },
    {
      name: "Cilium's ConfigMap without an apiserver",
      text: "kind: ConfigMap\nmetadata: { name: cilium-config }\ndata: { debug: 'false' }\n",
      says: "of its DaemonSet; give that",
    },
    {
      name: "kube-proxy's configuration whose kubeconfig is not here",
      text: "kind: KubeProxyConfiguration\nclientConnection: { kubeconfig: /nonexistent/kubeconfig.conf }\n",
      says: "/nonexistent/kubeconfig.conf",
    },
  ])("refuses $name", ({ text, says }) => {
    expect(readClientFile(fileWith(text))).toMatchObject({ problem: expect.stringContaining(says) });
  });

  test("does not repeat what the file holds when it cannot be read", () => {
    const read = readClientFile(fileWith("users:\n  - user: { client-key-data: c2VjcmV0\n"));
    expect(read).toMatchObject({ problem: expect.stringContaining("cannot be read") });
    expect(JSON.stringify(read)).not.toContain("c2VjcmV0");
  });
});
