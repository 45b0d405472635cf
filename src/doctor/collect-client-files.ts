import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { messageOf } from "../lib/errors.js";
import { readText } from "./collect-files.js";
import type { ClientFileFacts, NamedServer, UnreadableFile } from "./facts.js";

const kubeconfigSchema = z.object({
  clusters: z.array(z.object({ name: z.string().default(""), cluster: z.object({ server: z.string() }) })),
});

const kubeProxySchema = z.object({
  kind: z.literal("KubeProxyConfiguration"),
  clientConnection: z.object({ kubeconfig: z.string() }),
});

const configMapSchema = z.object({
  kind: z.literal("ConfigMap"),
  metadata: z.object({ name: z.string() }),
  data: z.record(z.string(), z.string()).default({}),
});

const listSchema = z.object({ kind: z.string().endsWith("List"), items: z.array(z.unknown()) });

const portSchema = z.union([z.string(), z.number()]).transform(String);

const containersSchema = z
  .array(z.object({ env: z.array(z.object({ name: z.string(), value: portSchema.optional() })).default([]) }))
  .default([]);

const podSchema = z.object({ containers: containersSchema, initContainers: containersSchema });

const workloadSchema = z.object({
  kind: z.string(),
  metadata: z.object({ name: z.string() }),
  spec: z.union([
    z.object({ template: z.object({ spec: podSchema }) }).transform(({ template }) => template.spec),
    podSchema,
  ]),
});

const helmSchema = z.object({
  k8sServiceHost: z.string(),
  k8sServicePort: portSchema.optional(),
});

/** How Cilium is told to look for the apiserver in the ConfigMap `cluster-info`. */
const CILIUM_AUTO = "auto";

/**
 * Reads a file that tells a client where the apiserver is, whichever kind it is: a kubeconfig; kube-proxy's
 * configuration or its ConfigMap; Cilium's Helm values, or a DaemonSet, Deployment or ConfigMap as kubectl prints it.
 */
export function readClientFile(file: string): ClientFileFacts | UnreadableFile {
  try {
    const documents = documentsIn(readText(file));
    const servers = distinct(documents.flatMap(serversIn));
    return servers.length > 0 ? { file, servers } : { file, problem: `${file} ${nothingIn(documents)}` };
  } catch (error) {
    // A parser's message goes on with an excerpt: a kubeconfig's would hold a key.
    return { file, problem: `${file} cannot be read: ${messageOf(error).split("\n")[0]}` };
  }
}

/** The documents of a YAML or JSON text; the items of a list in its place. @throws the parser's first error */
function documentsIn(text: string): unknown[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    const value: unknown = document.toJS();
    const list = listSchema.safeParse(value);
    return list.success ? list.data.items : [value];
  });
}

function serversIn(document: unknown): NamedServer[] {
  return [
    ...inKubeconfig(document),
    ...inKubeProxy(document),
    ...inConfigMap(document),
    ...inWorkload(document),
    ...inHelmValues(document),
  ];
}

function inKubeconfig(document: unknown): NamedServer[] {
  const { data } = kubeconfigSchema.safeParse(document);
  return (data?.clusters ?? []).map(({ name, cluster }) => ({
    place: `the server of cluster ${name}`,
    server: cluster.server,
    form: "url",
  }));
}

/** kube-proxy's own configuration names a kubeconfig, as a path in its Pod or on this machine. */
function inKubeProxy(document: unknown): NamedServer[] {
  const { data } = kubeProxySchema.safeParse(document);
  if (data === undefined || data.clientConnection.kubeconfig === "") return [];
  return documentsIn(readText(data.clientConnection.kubeconfig)).flatMap(inKubeconfig);
}

function inConfigMap(document: unknown): NamedServer[] {
  const { data: map } = configMapSchema.safeParse(document);
  if (map === undefined) return [];
  // kube-proxy's holds `kubeconfig.conf`, the ConfigMap cluster-info `kubeconfig`.
  const kubeconfigs = Object.entries(map.data).filter(([key]) => key.startsWith("kubeconfig"));
  const urls = ["k8s-api-server", "k8s-api-server-urls"].flatMap((key) =>
    (map.data[key] ?? "").split(/[\s,]+/).flatMap((server): NamedServer[] => {
      return server === "" ? [] : [{ place: `${key} of ConfigMap ${map.metadata.name}`, server, form: "url" }];
    }),
  );
  const variables = inVariables(`ConfigMap ${map.metadata.name}`, new Map(Object.entries(map.data)));
  return [...kubeconfigs.flatMap(([, text]) => documentsIn(text).flatMap(inKubeconfig)), ...urls, ...variables];
}

function inWorkload(document: unknown): NamedServer[] {
  const { data } = workloadSchema.safeParse(document);
  if (data === undefined) return [];
  return [...data.spec.initContainers, ...data.spec.containers].flatMap(({ env }) =>
    inVariables(`${data.kind} ${data.metadata.name}`, new Map(env.map(({ name, value }) => [name, value ?? ""]))),
  );
}

/** The variables by which a client in a Pod finds the apiserver (`rest.InClusterConfig` of client-go). */
function inVariables(owner: string, values: ReadonlyMap<string, string>): NamedServer[] {
  const host = values.get("KUBERNETES_SERVICE_HOST");
  if (host === undefined || host === "") return [];
  const server = urlOf(host, values.get("KUBERNETES_SERVICE_PORT"));
  return [{ place: `KUBERNETES_SERVICE_HOST of ${owner}`, server, form: "variables" }];
}

/** Cilium's Helm values, at the top or below the name of a subchart. */
function inHelmValues(document: unknown): NamedServer[] {
  const below = typeof document === "object" && document !== null ? Object.entries(document) : [];
  return [["", document] as const, ...below].flatMap(([name, value]): NamedServer[] => {
    const { data } = helmSchema.safeParse(value);
    if (data === undefined || data.k8sServiceHost === "" || data.k8sServiceHost === CILIUM_AUTO) return [];
    const place = name === "" ? "k8sServiceHost" : `${name}.k8sServiceHost`;
    return [{ place, server: urlOf(data.k8sServiceHost, data.k8sServicePort), form: "helm" }];
  });
}

function urlOf(host: string, port: string | undefined): string {
  const bracketed = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
  return port === undefined || port === "" ? `https://${bracketed}` : `https://${bracketed}:${port}`;
}

function distinct(servers: readonly NamedServer[]): NamedServer[] {
  return [...new Map(servers.map((one) => [`${one.place} ${one.server}`, one])).values()];
}

function nothingIn(documents: readonly unknown[]): string {
  const isCilium = documents.some((one) => configMapSchema.safeParse(one).data?.metadata.name.startsWith("cilium"));
  return isCilium
    ? "names no apiserver: Cilium takes it from KUBERNETES_SERVICE_HOST of its DaemonSet; give that, or the Helm values"
    : "is not a kubeconfig with clusters, and no configuration of kube-proxy or Cilium that names an apiserver";
}
