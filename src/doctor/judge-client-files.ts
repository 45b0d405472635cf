import { isIP } from "node:net";
import type { EndpointConfig } from "../config/config.js";
import type { ClientFileFacts, NamedServer } from "./facts.js";
import { type Finding, list } from "./finding.js";

/** Addresses of a name as this machine resolves it; undefined if it does not resolve. */
export type AddressesByName = ReadonlyMap<string, readonly string[] | undefined>;

/** Where a client is sent. */
interface ServerPlace {
  /** `https`, `http`, …; absent if none is written. */
  readonly scheme?: string;
  /** Lower case, without brackets and without a trailing dot. */
  readonly host: string;
  /** The one written, or else the scheme's. */
  readonly port: number;
  readonly isPortWritten: boolean;
}

/** Reads `https://HOST:PORT/PATH`, or a part of it, as client-go does; undefined if it is no such thing. */
export function parseServer(text: string): ServerPlace | undefined {
  const found = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(\[[0-9a-f:.%]+\]|[^\s:/?#@[\]]+)(?::(\d{1,5}))?(?:[/?#].*)?$/i.exec(
    text.trim(),
  );
  if (found === null) return undefined;
  const [, scheme, host = "", port] = found;
  return {
    ...(scheme === undefined ? {} : { scheme: scheme.toLowerCase() }),
    host: host
      .replace(/^\[(.*)\]$/, "$1")
      .replace(/\.$/, "")
      .toLowerCase(),
    port: port === undefined ? (scheme?.toLowerCase() === "http" ? 80 : 443) : Number(port),
    isPortWritten: port !== undefined,
  };
}

/** The names in client files that are no endpoint's, so that somebody looks them up. */
export function namesToLookUp(files: readonly ClientFileFacts[], endpoints: readonly EndpointConfig[]): string[] {
  const hosts = files.flatMap(({ servers }) => servers.flatMap(({ server }) => parseServer(server)?.host ?? []));
  const isKnown = (host: string) =>
    isIP(host) !== 0 || host === "localhost" || endpoints.some(({ fqdn }) => fqdn === host);
  return [...new Set(hosts)].filter((host) => !isKnown(host));
}

/** Judges where client files lead: to an endpoint, with its scheme and port, or past it. */
export function judgeClientFiles(
  files: readonly ClientFileFacts[],
  endpoints: readonly EndpointConfig[],
  addresses: AddressesByName,
): Finding[] {
  return files.flatMap(({ file, servers }) =>
    servers.flatMap((named): Finding[] => {
      const place = parseServer(named.server);
      if (place === undefined) return [];
      const endpoint = endpoints.find(({ fqdn }) => fqdn === place.host);
      if (endpoint !== undefined) return judgeUrl(file, named, place, endpoint);
      if (isIP(place.host) !== 0 || place.host === "localhost")
        return [judgeAddress(file, named, place.host, endpoints)];
      return [judgeOtherName(file, named, place.host, endpoints, addresses.get(place.host))];
    }),
  );
}

/** What to write in the place of a server. */
function remedyFor({ form }: NamedServer, endpoint: Pick<EndpointConfig, "fqdn" | "port"> | undefined): string {
  const { fqdn, port } = endpoint ?? { fqdn: "ENDPOINT", port: 6443 };
  switch (form) {
    case "url":
      return `Write server: https://${fqdn}:${port}.`;
    case "helm":
      return `Set k8sServiceHost: ${fqdn} and k8sServicePort: ${port}.`;
    case "variables":
      return `Set KUBERNETES_SERVICE_HOST to ${fqdn} and KUBERNETES_SERVICE_PORT to ${port} (Cilium's Helm values: k8sServiceHost and k8sServicePort).`;
  }
}

function judgeUrl(file: string, named: NamedServer, place: ServerPlace, endpoint: EndpointConfig): Finding[] {
  const { scheme, port, isPortWritten } = place;
  const isWrongPort = port !== endpoint.port;
  const isWrongScheme = scheme !== undefined && scheme !== "https";
  if (!isWrongPort && scheme === "https") return [];
  const wrong = [
    ...(scheme === undefined ? ["it has no scheme"] : []),
    ...(isWrongScheme ? [`the scheme is ${scheme}, not https`] : []),
    ...(isWrongPort && !isPortWritten ? [`it has no port, so clients take ${port}, not ${endpoint.port}`] : []),
    ...(isWrongPort && isPortWritten ? [`the port is ${port}, not ${endpoint.port}`] : []),
  ];
  const breaks = isWrongPort || isWrongScheme;
  return [
    {
      id: "endpoint-url-wrong",
      severity: breaks ? "error" : "warning",
      subject: file,
      evidence: `${capital(named.place)} is ${named.server}: ${list(wrong)}.`,
      meaning: breaks
        ? "Clients reach the right machine and no apiserver: connection refused, a timeout, or HTTP spoken to HTTPS."
        : "kubectl takes https if the file has an authority and http if not; other clients refuse the file.",
      remedy: remedyFor(named, endpoint),
    },
  ];
}

function judgeAddress(file: string, named: NamedServer, host: string, endpoints: readonly EndpointConfig[]): Finding {
  const owner = endpoints.find(({ targets }) => targets.some(({ addresses }) => addresses.includes(host)));
  const target = owner?.targets.find(({ addresses }) => addresses.includes(host));
  const remedy = remedyFor(named, owner ?? endpoints[0]);
  const isLoopback = host === "::1" || host === "localhost" || host.startsWith("127.");
  if (target === undefined && isLoopback) return throughProxy(file, named, remedy);
  return {
    id: "raw-address",
    severity: "error",
    subject: file,
    evidence: `${capital(named.place)} is ${named.server}${target === undefined ? "" : `: the target ${target.id} alone`}.`,
    meaning: "Whoever uses this file loses the cluster with that one machine, whatever DNS answers.",
    remedy: `${remedy} Only the kubelet of a control-plane node may keep its own apiserver's address (always since Kubernetes 1.36).`,
  };
}

function throughProxy(file: string, { place, server }: NamedServer, remedy: string): Finding {
  return {
    id: "raw-address",
    severity: "warning",
    subject: file,
    evidence: `${capital(place)} is ${server}, on the machine itself.`,
    meaning:
      "Whoever uses this file goes through what listens there (a local apiserver, or the load balancer of k3s, kubespray or Talos), not through the endpoint.",
    remedy: `If that is not meant: ${remedy}`,
  };
}

function judgeOtherName(
  file: string,
  named: NamedServer,
  host: string,
  endpoints: readonly EndpointConfig[],
  addresses: readonly string[] | undefined,
): Finding {
  const owner = endpoints.find(({ fqdn, targets }) =>
    targets.some((one) => `${one.id}.${fqdn}` === host || holds(one, addresses)),
  );
  const ids = owner?.targets
    .filter((one) => `${one.id}.${owner.fqdn}` === host || holds(one, addresses))
    .map(({ id }) => id);
  const finding = { id: "endpoint-bypassed", subject: file, remedy: remedyFor(named, owner ?? endpoints[0]) } as const;
  const written = `${capital(named.place)} is ${named.server}`;
  const clusterMayDiffer = "If the file is for another cluster, nothing. Otherwise: ";
  if (owner !== undefined && ids !== undefined) {
    const isOnly = ids.length < owner.targets.length;
    return {
      ...finding,
      severity: isOnly ? "error" : "warning",
      evidence: `${written}: ${host} leads to the target${ids.length > 1 ? "s" : ""} ${list(ids)}${isOnly ? " alone" : ""}.`,
      meaning: isOnly
        ? "Whoever uses this file loses the cluster with those machines, whatever the endpoint's name answers."
        : "Unless it is an alias (CNAME) of the endpoint, its answers do not follow health.",
    };
  }
  if (addresses === undefined) {
    return {
      ...finding,
      severity: "warning",
      evidence: `${written}; ${host} cannot be resolved here, and is no endpoint of the configuration.`,
      meaning: "Where it leads is not known. It does not follow the endpoint's health.",
      remedy: clusterMayDiffer + finding.remedy,
    };
  }
  return {
    ...finding,
    severity: "note",
    evidence: `${written}; ${host} is ${list(addresses)}, which is no target.`,
    meaning: "It leads to another cluster, or to a load balancer in front of this one; livezone does not steer it.",
    remedy: clusterMayDiffer + finding.remedy,
  };
}

function holds(target: EndpointConfig["targets"][number], addresses: readonly string[] | undefined): boolean {
  return addresses?.some((address) => target.addresses.includes(address)) === true;
}

function capital(text: string): string {
  return text.startsWith("the ") ? `The ${text.slice(4)}` : text;
}
