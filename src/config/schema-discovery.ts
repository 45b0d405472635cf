import { z } from "zod";
import { choice, domainName, duration, flag, leaf, oneOrMany, text, wholeNumber } from "./option.js";
import { readServerAddress } from "./server-address.js";

/* The options of `discover`; see `schema.ts` for what an entry says. */

const SOURCE_TYPES = ["kubernetes", "dns", "file"] as const;

export type SourceType = (typeof SOURCE_TYPES)[number];

/** The source types that each option belongs to. */
export const sourceTypesOf = z.registry<{ types: readonly SourceType[] }>();

function option<S extends z.ZodType>(type: SourceType, schema: S) {
  const optional = schema.optional();
  sourceTypesOf.add(optional, { types: [type] });
  return optional;
}

export const discoverOptions = {
  type: choice(SOURCE_TYPES, { about: "kubernetes: a cluster's API; dns: another name; file: a JSON or YAML file." }),
  kubeconfig: option(
    "kubernetes",
    text("the path of a file", { about: "kubeconfig with which the API is read. Relative to this file." }),
  ),
  inCluster: option(
    "kubernetes",
    flag({ about: "Read the API as the service account of the Pod that livezone runs in.", default: false }),
  ),
  resource: option(
    "kubernetes",
    choice(["nodes", "pods", "endpointslices"], {
      about:
        "nodes: names and addresses of Nodes; pods: the addresses that kubeadm notes at its static Pods; endpointslices: the addresses of default/kubernetes, without names.",
      default: "nodes",
    }),
  ),
  selector: option(
    "kubernetes",
    text("a label selector", {
      about:
        "Label selector; default: node-role.kubernetes.io/control-plane for nodes, component=kube-apiserver for pods.",
    }),
  ),
  addressType: option(
    "kubernetes",
    choice(["InternalIP", "ExternalIP"], { about: "Which address of a Node.", default: "InternalIP" }),
  ),
  honorCordon: option("kubernetes", flag({ about: "Count an unschedulable Node as drained.", default: false })),
  name: option("dns", domainName("any", { about: "Name whose addresses are the targets." })),
  server: option(
    "dns",
    leaf(
      { type: "string" },
      { about: "Server that is asked, such as 10.0.0.53 or 10.0.0.53:5353." },
      readServerAddress("CONFIG_DISCOVER_SERVER"),
    ),
  ),
  interval: option(
    "dns",
    duration(
      { min: "1s", max: "24h" },
      { about: "Least time between two questions; a longer TTL is respected.", default: "30s" },
    ),
  ),
  records: option(
    "dns",
    oneOrMany(choice(["A", "AAAA", "SRV"], { about: "Type of record." })).meta({
      description: "Records to ask for; default: A and AAAA, or SRV for a name that begins with an underscore.",
    }),
  ),
  path: option("file", text("the path of a file", { about: "JSON or YAML file of targets. Relative to this file." })),
} as const;

export const discover = z
  .array(z.strictObject(discoverOptions, { error: () => "discover" }))
  .min(1)
  .meta({ description: "Sources that propose targets at run time. Probes decide what is answered." });

export const forgetAfter = duration(
  { min: "1m", max: "720h" },
  { about: "How long a discovered target is kept once its source has dropped it and it is down.", default: "1h" },
);

/** Greatest `maxTargets`: what one core probes and answers without delay. */
export const MAX_TARGETS = 1_000;

export const maxTargets = wholeNumber(
  { min: 1, max: MAX_TARGETS },
  { about: "Most targets of an endpoint with discover, those of the file included.", default: 64 },
);
