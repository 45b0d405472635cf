import type { EndpointConfig, ZoneConfig } from "../config/config.js";
import type { RunProbe } from "../health/probes/probe.js";
import type { Clock } from "../lib/clock.js";
import type { SocketAddress } from "../lib/listening.js";
import { collectDelegation, findParents, lookUp } from "./collect-delegation.js";
import { readKubeconfig, readManifest } from "./collect-files.js";
import { collectNameservers, type NameserverPlace } from "./collect-nameservers.js";
import { collectResolver, type ResolvedEndpoint } from "./collect-resolver.js";
import { collectTargets } from "./collect-targets.js";
import { type DialOrder, dialOrders, type LocalAddress } from "./dial-order.js";
import type { Asker, DelegationFacts, NameserverFacts, ResolverFacts, TargetFacts, UnreadableFile } from "./facts.js";
import { type Finding, SEVERITIES } from "./finding.js";
import { glueOf, judgeDelegation, judgeReachability } from "./judge-delegation.js";
import { judgeKubeconfigs, judgeManifests, judgeUnreadable } from "./judge-files.js";
import { addressesIn, judgeNameservers } from "./judge-nameservers.js";
import { type ExpectedAnswers, judgeResolver, resolves } from "./judge-resolver.js";
import { judgeTargets } from "./judge-targets.js";

/** What is looked at. */
export interface DoctorInput {
  /** Zones with the endpoints to look at; at least one. */
  readonly zones: readonly ZoneConfig[];
  /** Resolvers, and where each was named. */
  readonly resolvers: readonly { readonly server: SocketAddress; readonly source: string }[];
  /** Servers of the parent zone; empty = look for them through the resolvers. */
  readonly parents: readonly SocketAddress[];
  /** Port of the zone's nameservers: 53, unless livezone is tried out on another one. */
  readonly port: number;
  /** Port of the parent's servers where they are looked for: 53, except in tests. */
  readonly parentPort: number;
  /** Manifests of kube-apiservers. */
  readonly manifests: readonly string[];
  /** Kubeconfigs. */
  readonly kubeconfigs: readonly string[];
}

/** What the doctor looks with. */
export interface DoctorSeams {
  readonly ask: Asker;
  readonly clock: Clock;
  readonly probe: RunProbe;
  readonly localAddresses: readonly LocalAddress[];
  /** A DNS label that nobody has asked for. */
  randomLabel(): string;
}

/** What was found. */
export interface DoctorReport {
  /** Whether nothing is, or will be, broken: no finding is an error. */
  readonly healthy: boolean;
  /** Most severe first. */
  readonly findings: readonly Finding[];
  /** What clients on this machine would do with the answers, by endpoint. */
  readonly clients: readonly { readonly endpoint: string; readonly orders: readonly DialOrder[] }[];
  /** How much was looked at. */
  readonly looked: { readonly nameservers: number; readonly resolvers: number; readonly targets: number };
}

/** Looks at the whole chain as a client would: parent, nameservers, resolvers, apiservers, files. */
export async function examine(input: DoctorInput, seams: DoctorSeams): Promise<DoctorReport> {
  const zones = await Promise.all(input.zones.map((zone) => examineZone(zone, input, seams)));
  const endpoints = input.zones.flatMap((zone) => zone.endpoints);
  const findings = [...zones.flatMap((zone) => zone.findings), ...judgeFiles(input, endpoints)];
  const order = (finding: Finding) => SEVERITIES.indexOf(finding.severity);
  return {
    healthy: findings.every(({ severity }) => severity !== "error"),
    findings: findings.toSorted((a, b) => order(a) - order(b)),
    clients: zones.flatMap((zone) => zone.clients),
    looked: {
      nameservers: zones.reduce((sum, { nameservers }) => sum + nameservers, 0),
      resolvers: input.resolvers.length,
      targets: zones.reduce((sum, { targets }) => sum + targets, 0),
    },
  };
}

interface ExaminedZone {
  readonly findings: readonly Finding[];
  readonly clients: DoctorReport["clients"];
  readonly nameservers: number;
  readonly targets: number;
}

async function examineZone(zone: ZoneConfig, input: DoctorInput, seams: DoctorSeams): Promise<ExaminedZone> {
  const name = zone.zone;
  const own = await ownNameservers(zone, input, seams.ask);
  const expected: ExpectedAnswers = {
    zone: name,
    endpoints: new Map(zone.endpoints.map((endpoint) => [endpoint.fqdn, answersOf(endpoint)])),
    negativeTtl: zone.soa.negativeTtl,
    nameservers: new Set([...own.values()].flat()),
  };
  const resolving = Promise.all(
    input.resolvers.map((resolver) =>
      collectResolver(seams.ask, seams.clock, resolver, name, zone.endpoints.map(resolvedEndpoint), seams.randomLabel),
    ),
  );
  const probing = Promise.all(zone.endpoints.map((endpoint) => collectTargets(seams.probe, endpoint)));
  const delegation = await delegationOf(name, input, seams.ask);
  const places = placesOf(own, glueOf(delegation, name), input.port);
  const resolvedEndpoints = zone.endpoints.map(resolvedEndpoint);
  const nameservers = await collectNameservers(seams.ask, seams.clock, name, resolvedEndpoints, places);
  const [resolvers, targets] = await Promise.all([resolving, probing]);

  const nowMs = seams.clock.wallMs();
  return {
    findings: [
      ...judgeDelegation(delegation, { zone: name, nameservers: own }, resolvers.some(resolves)),
      ...judgeReachability(nameservers, name),
      ...judgeNameservers(nameservers, name, nowMs),
      ...resolvers.flatMap((facts) => judgeResolver(facts, expected)),
      ...zone.endpoints.flatMap((endpoint, index) => judgeTargets(endpoint, targets[index] as TargetFacts[], nowMs)),
    ],
    clients: resolvedEndpoints.map(({ fqdn }) => ({
      endpoint: fqdn,
      orders: dialOrders(received(fqdn, resolvers, nameservers), seams.localAddresses),
    })),
    nameservers: places.length,
    targets: targets.flat().length,
  };
}

/** Absolute names and addresses of the configured nameservers; addresses of those outside the zone are looked up. */
async function ownNameservers(
  zone: ZoneConfig,
  input: DoctorInput,
  ask: Asker,
): Promise<Map<string, readonly string[]>> {
  const resolver = input.resolvers[0]?.server;
  const found = zone.nameservers.map(async ({ name, addresses }): Promise<[string, readonly string[]]> => {
    const absolute = (name.endsWith(".") ? name.slice(0, -1) : `${name}.${zone.zone}`).toLowerCase();
    if (addresses.length > 0 || resolver === undefined) return [absolute, addresses];
    return [absolute, await lookUp(ask, absolute, resolver)];
  });
  return new Map(await Promise.all(found));
}

async function delegationOf(zone: string, input: DoctorInput, ask: Asker): Promise<DelegationFacts> {
  if (input.parents.length > 0) return { ...(await collectDelegation(ask, zone, input.parents)), areNamed: true };
  let problem = "There is no resolver to look for the parent zone with.";
  for (const { server } of input.resolvers) {
    const found = await findParents(ask, zone, server, input.parentPort);
    if (found.servers.length > 0) return collectDelegation(ask, zone, found.servers);
    problem = found.problem;
  }
  return { parents: [], problem };
}

function placesOf(
  own: ReadonlyMap<string, readonly string[]>,
  glue: ReadonlyMap<string, ReadonlySet<string>>,
  port: number,
): NameserverPlace[] {
  const places = new Map<string, NameserverPlace>();
  const inGlue = new Set([...glue.values()].flatMap((addresses) => [...addresses]));
  for (const [name, addresses] of own) {
    for (const address of addresses) {
      places.set(address, { name, server: { address, port }, inConfig: true, inParent: inGlue.has(address) });
    }
  }
  for (const [name, addresses] of glue) {
    for (const address of addresses) {
      if (!places.has(address))
        places.set(address, { name, server: { address, port }, inConfig: false, inParent: true });
    }
  }
  return [...places.values()];
}

function answersOf({ ttl, targets, whenAllDown }: EndpointConfig) {
  const fallback = whenAllDown.kind === "addresses" ? whenAllDown.addresses : [];
  return { ttl, addresses: new Set([...targets.flatMap(({ addresses }) => addresses), ...fallback]) };
}

function resolvedEndpoint({ fqdn, ttl, targets }: EndpointConfig): ResolvedEndpoint {
  return {
    fqdn,
    ttl,
    types: familiesOf(targets.flatMap(({ addresses }) => addresses)),
    targets: targets.map(({ id, addresses }) => ({ name: `${id}.${fqdn}`, addresses })),
  };
}

/** The record types of addresses, IPv4 first; A for none. */
function familiesOf(addresses: readonly string[]): readonly ("A" | "AAAA")[] {
  const hasIpv4 = addresses.some((address) => !address.includes(":"));
  const hasIpv6 = addresses.some((address) => address.includes(":"));
  if (!hasIpv6) return ["A"];
  return hasIpv4 ? ["A", "AAAA"] : ["AAAA"];
}

/** What a client gets: from the first resolver that answers, or else from a nameserver. */
function received(
  fqdn: string,
  resolvers: readonly ResolverFacts[],
  nameservers: readonly NameserverFacts[],
): string[] {
  for (const { endpoints } of resolvers) {
    const resolved = endpoints.get(fqdn);
    const addresses = [...(resolved?.first.slice(0, 1) ?? []), ...(resolved?.otherFamily ?? [])].flatMap(addressesIn);
    if (addresses.length > 0) return addresses;
  }
  const answered = nameservers.flatMap(({ endpoints }) => endpoints.get(fqdn) ?? []).map(addressesIn);
  return answered.find((addresses) => addresses.length > 0) ?? [];
}

function judgeFiles({ manifests, kubeconfigs }: DoctorInput, endpoints: readonly EndpointConfig[]): Finding[] {
  const unreadable: UnreadableFile[] = [];
  const readable = <T>(read: T | UnreadableFile): T[] => {
    if (!isUnreadable(read)) return [read];
    unreadable.push(read);
    return [];
  };
  const apiservers = manifests.map(readManifest).flatMap(readable);
  const clients = kubeconfigs.map(readKubeconfig).flatMap(readable);
  return [
    ...judgeManifests(apiservers, endpoints),
    ...judgeKubeconfigs(clients, endpoints),
    ...judgeUnreadable(unreadable),
  ];
}

function isUnreadable<T>(read: T | UnreadableFile): read is UnreadableFile {
  return typeof read === "object" && read !== null && "problem" in read;
}
