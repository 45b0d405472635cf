import { z } from "zod";
import type { KubernetesSourceConfig } from "../../config/discovery.js";
import { idOfAddress } from "../label.js";
import { quoted } from "../learn.js";
import type { Candidate, SourceNotice } from "../source.js";

/** What is kept of one object of the API. */
export interface ReadObject {
  /** Its name: unique in what is listed. */
  readonly name: string;
  readonly candidates: readonly Candidate[];
  readonly notices: readonly SourceNotice[];
}

/** One kind of object that candidates are read from. */
export interface Resource {
  /** Of the collection, without a query. */
  readonly path: string;
  readonly selector: string;
  /** What an object says; undefined for one that has no name. */
  read(object: unknown): ReadObject | undefined;
}

/** On nodes that external load balancers are to leave out; its value does not matter. */
export const EXCLUDE_LABEL = "node.kubernetes.io/exclude-from-external-load-balancers";

/** Where kubeadm notes the address and port that an apiserver's static Pod advertises. */
export const ADVERTISE_ANNOTATION = "kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint";

/** What a source reads, as it is configured. */
export function resourceOf(config: KubernetesSourceConfig): Resource {
  const { resource, selector } = config;
  switch (resource) {
    case "nodes":
      return {
        path: "/api/v1/nodes",
        selector: selector ?? "node-role.kubernetes.io/control-plane",
        read: (object) => readNode(object, config),
      };
    case "pods":
      return {
        path: "/api/v1/namespaces/kube-system/pods",
        selector: selector ?? "component=kube-apiserver,tier=control-plane",
        read: readPod,
      };
    case "endpointslices":
      return {
        path: "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        selector: selector ?? "kubernetes.io/service-name=kubernetes",
        read: readSlice,
      };
  }
}

const named = z.object({ metadata: z.object({ name: z.string().min(1) }) });

// Parts that are absurd count as absent, so that one of them does not cost the rest.
const labels = z.record(z.string(), z.unknown()).optional().catch(undefined);

const node = z.object({
  metadata: z.object({ labels }),
  spec: z
    .object({ unschedulable: z.boolean().optional().catch(undefined) })
    .optional()
    .catch(undefined),
  status: z
    .object({ addresses: z.array(z.unknown()).optional().catch(undefined) })
    .optional()
    .catch(undefined),
});

const nodeAddress = z.object({ type: z.string(), address: z.string() });

function readNode(
  object: unknown,
  { addressType, honorCordon }: Pick<KubernetesSourceConfig, "addressType" | "honorCordon">,
): ReadObject | undefined {
  const name = nameOf(object);
  if (name === undefined) return undefined;
  const { metadata, spec, status } = node.parse(object);
  const all = (status?.addresses ?? []).flatMap((one) => nodeAddress.safeParse(one).data ?? []);
  const addresses = all.filter(({ type }) => type === addressType).map(({ address }) => address);
  if (addresses.length === 0) return without(name, `the Node ${quoted(name)} has no address of type ${addressType}`);
  const isExcluded = metadata.labels !== undefined && Object.hasOwn(metadata.labels, EXCLUDE_LABEL);
  const isCordoned = honorCordon && spec?.unschedulable === true;
  const drain = isExcluded
    ? `the Node has the label ${EXCLUDE_LABEL}`
    : isCordoned
      ? "the Node is cordoned"
      : undefined;
  return { name, candidates: [{ id: name, addresses, ...(drain === undefined ? {} : { drain }) }], notices: [] };
}

const pod = z.object({
  metadata: z.object({ annotations: labels }),
  spec: z
    .object({ nodeName: z.string().min(1) })
    .optional()
    .catch(undefined),
});

function readPod(object: unknown): ReadObject | undefined {
  const name = nameOf(object);
  if (name === undefined) return undefined;
  const { metadata, spec } = pod.parse(object);
  const written = metadata.annotations?.[ADVERTISE_ANNOTATION];
  const match = typeof written === "string" ? /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(written) : null;
  if (match === null) return without(name, `the Pod ${quoted(name)} has no usable annotation ${ADVERTISE_ANNOTATION}`);
  const id = spec?.nodeName ?? name.replace(/^kube-apiserver-/, "");
  const address = match[1] ?? match[2] ?? "";
  return { name, candidates: [{ id, addresses: [address], port: Number(match[3]) }], notices: [] };
}

const slice = z.object({
  endpoints: z.array(z.unknown()).nullish().catch(undefined),
  ports: z.array(z.unknown()).nullish().catch(undefined),
});

const sliceEndpoint = z.object({ addresses: z.array(z.string()) });
const slicePort = z.object({ name: z.string().nullish(), port: z.number().int() });

function readSlice(object: unknown): ReadObject | undefined {
  const name = nameOf(object);
  if (name === undefined) return undefined;
  const { endpoints, ports } = slice.parse(object);
  const known = (ports ?? []).flatMap((one) => slicePort.safeParse(one).data ?? []);
  const port = (known.find((one) => one.name === "https") ?? known[0])?.port;
  const addresses = (endpoints ?? []).flatMap((one) => sliceEndpoint.safeParse(one).data?.addresses ?? []);
  const candidates = addresses.map((address) => ({
    id: idOfAddress(address),
    addresses: [address],
    ...(port === undefined ? {} : { port }),
  }));
  return { name, candidates, notices: [] };
}

function nameOf(object: unknown): string | undefined {
  return named.safeParse(object).data?.metadata.name.slice(0, 253);
}

function without(name: string, text: string): ReadObject {
  return { name, candidates: [], notices: [{ key: `OBJECT ${name}`, text: `${text}: it is left out` }] };
}
