import type { EndpointConfig } from "../config/config.js";
import type { KubernetesSourceConfig } from "../config/discovery.js";

/** Name of the account and of its rights. */
const NAME = "livezone-discovery";

/** Hours that the credential of the example holds: a year. An alarm comes 14 days before its end. */
const HOURS = 8_760;

/** What each resource needs: list and watch, where it is. */
const RESOURCES: Readonly<
  Record<KubernetesSourceConfig["resource"], { readonly group: string; readonly namespace?: string }>
> = {
  nodes: { group: "" },
  pods: { group: "", namespace: "kube-system" },
  endpointslices: { group: "discovery.k8s.io", namespace: "default" },
};

/** Kubernetes objects and commands that give livezone a credential with which it can discover, and nothing else. */
export function discoverySettings({ fqdn, port, targets, discover }: EndpointConfig): string {
  const sources = (discover?.sources ?? []).flatMap((one) => (one.type === "kubernetes" ? [one.resource] : []));
  const resources = [...new Set(sources.length === 0 ? (["nodes"] as const) : sources)];
  const [address = "ADDRESS"] = targets.flatMap(({ addresses }) => addresses);
  const host = address.includes(":") ? `[${address}]` : address;
  return `# Lets livezone find the apiservers of ${fqdn}: list and watch of ${resources.join(" and ")}, nothing else.
# 1. livezone kubeadm --discovery | kubectl apply -f -
# 2. A kubeconfig, with a certificate (on a control-plane node) ...
#      kubeadm kubeconfig user --client-name=${NAME} --validity-period=${HOURS}h > discovery.kubeconfig
#    ... or with a bound token:
#      kubectl config view --raw --minify --flatten -o jsonpath='{.clusters[0].cluster.certificate-authority-data}' | base64 -d > ca.crt
#      kubectl config --kubeconfig=discovery.kubeconfig set-cluster cluster --server=https://${host}:${port} --certificate-authority=ca.crt --embed-certs=true
#      kubectl config --kubeconfig=discovery.kubeconfig set-credentials ${NAME} --token="$(kubectl -n kube-system create token ${NAME} --duration=${HOURS}h)"
#      kubectl config --kubeconfig=discovery.kubeconfig set-context discovery --cluster=cluster --user=${NAME}
#      kubectl config --kubeconfig=discovery.kubeconfig use-context discovery
# 3. Put it beside the zone file, readable by livezone alone (chmod 600), and name it there:
#      discover: [{ type: kubernetes, kubeconfig: discovery.kubeconfig, resource: ${resources[0]} }]
# The server in it is one address to begin with. livezone asks whichever apiservers it knows, and never ${fqdn}.
# livezone check says whether it works. An alarm comes 14 days before the credential ends: then repeat step 2.
apiVersion: v1
kind: ServiceAccount
metadata: { name: ${NAME}, namespace: kube-system }
${resources.map(rights).join("")}`;
}

function rights(resource: KubernetesSourceConfig["resource"]): string {
  const { group, namespace } = RESOURCES[resource];
  const prefix = namespace === undefined ? "Cluster" : "";
  const place = namespace === undefined ? "" : `, namespace: ${namespace}`;
  const name = namespace === undefined ? NAME : `${NAME}-${resource}`;
  return `---
apiVersion: rbac.authorization.k8s.io/v1
kind: ${prefix}Role
metadata: { name: ${name}${place} }
rules:
  - { apiGroups: ["${group}"], resources: [${resource}], verbs: [list, watch] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ${prefix}RoleBinding
metadata: { name: ${name}${place} }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ${prefix}Role, name: ${name} }
subjects:
  # with a token
  - { kind: ServiceAccount, name: ${NAME}, namespace: kube-system }
  # with a certificate
  - { apiGroup: rbac.authorization.k8s.io, kind: User, name: ${NAME} }
`;
}
