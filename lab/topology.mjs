/** The network of the lab: who is there, and where. Each copy of it has the same addresses, in namespaces of its own. */

/** Address of each host; `.1` is nobody. All are on one switch. */
export const ADDRESSES = {
  corp: "10.77.0.2",
  cp1: "10.77.0.11",
  cp2: "10.77.0.12",
  cp3: "10.77.0.13",
  ns1: "10.77.0.21",
  ns2: "10.77.0.22",
  lb1: "10.77.0.31",
  lb2: "10.77.0.32",
  client: "10.77.0.41",
};

/** BIND, with the parent zone, has the first address of `corp`; the site's resolver has this one. */
export const RESOLVER = "10.77.0.3";
/** The virtual address that the load balancers share. */
export const VIRTUAL = "10.77.0.30";
export const PARENT = "example.com";
export const ZONE = `k8s.${PARENT}`;
/** What clients connect to, as a cluster's `controlPlaneEndpoint`. */
export const NAME = `api.${ZONE}`;
export const PORT = 6443;
export const TARGETS = ["cp1", "cp2", "cp3"];

/** The namespace of the switch, beside those of the hosts. */
export const SWITCH = "net";
export const HOSTS = Object.keys(ADDRESSES);

const PREFIX = "lzlab";

/** Name of a namespace: of one run (its process id), one copy of the network, one host. */
export const namespaceName = (run, copy, host) => `${PREFIX}-${run}-${copy}-${host}`;

/** The run that a namespace belongs to: a process id; undefined where it is not of the lab. */
export function runOf(namespace) {
  const match = new RegExp(`^${PREFIX}-(\\d+)-\\d+-[a-z0-9]+$`).exec(namespace);
  return match === null ? undefined : Number(match[1]);
}
