import { isIP } from "node:net";
import type { EndpointConfig } from "../../config/config.js";
import { singleProbes } from "../../config/probe-list.js";
import type { Dial } from "./api.js";
import type { Credential } from "./credential.js";

/** Places that are tried one after the other before a pause. */
const MAX_DIALS = 8;

/** The name that every kube-apiserver's certificate has, whatever else it is called. */
const EVERY_APISERVER = "kubernetes.default.svc";

/** What is known of where the API may be. */
export interface DialSurroundings {
  readonly endpoint: Pick<EndpointConfig, "fqdn" | "probe">;
  /** The zone's name, without the trailing dot: what lies in it is never resolved. */
  readonly zone: string;
  /** Addresses of apiservers, the most trustworthy first. */
  readonly servers: readonly { readonly address: string; readonly port: number }[];
  /** The host that answered last. */
  readonly lastGood?: string | undefined;
  /** A host to be tried last. */
  readonly avoid?: string | undefined;
}

/**
 * Where to look for the API, in this order: where it was last, the targets that are known, what the credential names. Never a
 * name that livezone answers: without the cluster it would depend on itself.
 */
export function dialsFor(
  credential: Credential,
  { endpoint, zone, servers, lastGood, avoid }: DialSurroundings,
): Dial[] {
  const { host, port } = credential;
  const isAddress = isIP(host) > 0;
  const isOwn = !isAddress && (host === zone || host.endsWith(`.${zone}`));
  const places = [
    ...servers.slice(0, MAX_DIALS - 1).map(({ address, port: itsPort }) => ({ host: address, port: itsPort })),
    ...(isOwn ? [] : [{ host, port }]),
  ];
  const dials = new Map<string, Dial>();
  for (const place of places) {
    const key = `${place.host} ${place.port}`;
    if (!dials.has(key)) dials.set(key, { ...place, ...namesFor(credential, place.host, endpoint) });
  }
  const rank = (dial: Dial): number => (dial.host === avoid ? 2 : dial.host === lastGood ? 0 : 1);
  return [...dials.values()].sort((a, b) => rank(a) - rank(b));
}

/** What the server at an address is called, and what its certificate must say. */
function namesFor(
  { host, serverName }: Credential,
  dialled: string,
  { fqdn, probe }: DialSurroundings["endpoint"],
): Pick<Dial, "serverName" | "identities"> {
  if (serverName !== undefined) return { serverName, identities: [serverName] };
  if (isIP(host) === 0) return { serverName: host, identities: [host] };
  const probed = singleProbes(probe).flatMap((one) => (one.type === "https" ? [one.serverName] : []));
  const name = probed.find((one) => isIP(one) === 0) ?? fqdn;
  return { serverName: name, identities: [dialled, name, EVERY_APISERVER] };
}
