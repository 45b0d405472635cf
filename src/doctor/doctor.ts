import type { EndpointConfig, ZoneConfig } from "../config/config.js";
import { WRITTEN } from "../discovery/targets.js";
import { collectDelegation, findParents, lookUp } from "./collect-delegation.js";
import { collectMachine } from "./collect-machine.js";
import { collectNameservers, type NameserverPlace } from "./collect-nameservers.js";
import { collectResolver, type ResolvedEndpoint } from "./collect-resolver.js";
import { collectSecondaries, serialIn } from "./collect-secondaries.js";
import { type SourcedEndpoint, withProposed } from "./collect-sources.js";
import { collectTargets } from "./collect-targets.js";
import { type DialOrder, dialOrders } from "./dial-order.js";
import { examineFiles } from "./examine-files.js";
import type {
  Asker,
  DelegationFacts,
  Heard,
  MachineFacts,
  NameserverFacts,
  ResolverFacts,
  SecondaryFacts,
  TargetFacts,
} from "./facts.js";
import { type Finding, SEVERITIES } from "./finding.js";
import { addressesIn } from "./heard.js";
import type { DoctorInput, DoctorSeams } from "./input.js";
import { glueOf, judgeDelegation, judgeReachability } from "./judge-delegation.js";
import { judgeMachine, judgeResolvConf, type KnownEndpoint } from "./judge-machine.js";
import { judgeNameservers } from "./judge-nameservers.js";
import { type ExpectedAnswers, judgeResolver, resolves } from "./judge-resolver.js";
import { judgeSecondaries } from "./judge-secondaries.js";
import { isUnconfirmed, judgeSources } from "./judge-sources.js";
import { judgeTargets } from "./judge-targets.js";

/** What was found. */
export interface DoctorReport {
  /** Whether nothing is, or will be, broken: no finding is an error. */
  readonly healthy: boolean;
  /** Most severe first. */
  readonly findings: readonly Finding[];
  /** What clients on this machine would do with the answers, by endpoint. */
  readonly clients: readonly { readonly endpoint: string; readonly orders: readonly DialOrder[] }[];
  /** Where targets come from, by endpoint with sources of targets. */
  readonly sources: readonly SourceReport[];
  /** How much was looked at. */
  readonly looked: { readonly nameservers: number; readonly resolvers: number; readonly targets: number };
}

/** Where the targets of one endpoint come from. */
export interface SourceReport {
  readonly endpoint: string;
  readonly sources: readonly {
    /** `config`, or the name of a source. */
    readonly source: string;
    /** Ids of targets. */
    readonly targets: readonly string[];
    /** When livezone on this machine heard it last, milliseconds since 1970; absent = not known. */
    readonly heardAtMs?: number;
  }[];
}

/** Looks at the whole chain as a client would: parent, nameservers, resolvers, apiservers, files. */
export async function examine(input: DoctorInput, seams: DoctorSeams): Promise<DoctorReport> {
  const zones = await Promise.all(input.zones.map((zone) => examineZone(zone, input, seams)));
  const endpoints = input.zones.flatMap((zone) => zone.endpoints);
  const ofMachine = input.machine.isCompared ? judgeResolvConf(input.machine.resolvConf) : [];
  const ofFiles = await examineFiles(input, endpoints, seams);
  const findings = [...ofMachine, ...zones.flatMap((zone) => zone.findings), ...ofFiles];
  const order = (finding: Finding) => SEVERITIES.indexOf(finding.severity);
  return {
    healthy: findings.every(({ severity }) => severity !== "error"),
    findings: findings.toSorted((a, b) => order(a) - order(b)),
    clients: zones.flatMap((zone) => zone.clients),
    sources: zones.flatMap((zone) => zone.sources),
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
  readonly sources: DoctorReport["sources"];
  readonly nameservers: number;
  readonly targets: number;
}

async function examineZone(written: ZoneConfig, input: DoctorInput, seams: DoctorSeams): Promise<ExaminedZone> {
  const { zone, endpoints: sourced } = withProposed(written, await seams.readSources(written), seams.clock.wallMs());
  const name = zone.zone;
  const own = await ownNameservers(zone, input, seams.ask);
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
  const following = secondariesOf(zone, nameservers, input, seams);
  const [resolvers, targets] = await Promise.all([resolving, probing]);
  const machine = await machineOf(zone, input, seams, resolvers);
  const expected = expectedAnswers(zone, own, nameservers);

  const nowMs = seams.clock.wallMs();
  return {
    findings: [
      ...judgeDelegation(delegation, { zone: name, nameservers: own }, resolvers.some(resolves)),
      ...judgeReachability(nameservers, name),
      ...judgeNameservers(nameservers, name, nowMs),
      ...judgeSecondaries(await following, name),
      ...resolvers.flatMap((facts) => judgeResolver(facts, expected)),
      ...judgeMachine(machine, knownEndpoints(expected, resolvers)),
      ...zone.endpoints.flatMap((endpoint, index) =>
        judgeEndpoint(endpoint, sourced, targets[index] as TargetFacts[], nowMs),
      ),
    ],
    clients: resolvedEndpoints.map(({ fqdn }) => ({
      endpoint: fqdn,
      orders: dialOrders(received(fqdn, machine, resolvers, nameservers), seams.localAddresses),
    })),
    sources: sourced.map(sourceReport),
    nameservers: places.length,
    targets: targets.flat().length,
  };
}

/** Judges an endpoint's targets, and the sources that propose them. */
function judgeEndpoint(
  endpoint: EndpointConfig,
  sourced: readonly SourcedEndpoint[],
  targets: readonly TargetFacts[],
  nowMs: number,
): Finding[] {
  const own = sourced.find(({ fqdn }) => fqdn === endpoint.fqdn);
  if (own === undefined) return judgeTargets(endpoint, targets, nowMs);
  const confirmed = targets.filter((facts) => !isUnconfirmed(own, facts));
  const ofTargets = judgeTargets(endpoint, confirmed.length === 0 ? targets : confirmed, nowMs);
  return [...judgeSources(own, targets, nowMs), ...ofTargets];
}

function sourceReport({ fqdn, sources, origins }: SourcedEndpoint): SourceReport {
  const heardAt = new Map(sources.map(({ source, server }) => [source, server?.heardAtMs]));
  const targetsOf = (source: string): string[] =>
    [...origins].filter(([, origin]) => origin.origins.includes(source)).map(([id]) => id);
  return {
    endpoint: fqdn,
    sources: [WRITTEN, ...heardAt.keys()].map((source) => {
      const heardAtMs = heardAt.get(source);
      return { source, targets: targetsOf(source), ...(heardAtMs === undefined ? {} : { heardAtMs }) };
    }),
  };
}

/** Asks the servers under `transfer.to`. */
function secondariesOf(
  { zone, transfer }: ZoneConfig,
  nameservers: readonly NameserverFacts[],
  { primaries }: DoctorInput,
  { ask, clock }: DoctorSeams,
): Promise<SecondaryFacts> {
  const known = nameservers.flatMap(({ soa }) => serialIn(soa) ?? []);
  return collectSecondaries(ask, clock, zone, transfer?.to ?? [], primaries, known);
}

/** How this machine resolves the endpoints; `getaddrinfo` is not kept waiting for resolvers that are silent. */
function machineOf(
  zone: ZoneConfig,
  { machine }: DoctorInput,
  { lookUpAsMachine }: DoctorSeams,
  resolvers: readonly ResolverFacts[],
): Promise<MachineFacts> {
  const { resolvConf, hostsFile, isCompared } = machine;
  const isHeard = ({ first }: { first: readonly Heard[] }) => first.some((heard) => "reply" in heard);
  const isAsked =
    isCompared && resolvers.some(({ isOwn, endpoints }) => isOwn && [...endpoints.values()].some(isHeard));
  const names = zone.endpoints.map(({ fqdn }) => fqdn);
  return collectMachine(resolvConf, hostsFile, names, isAsked ? lookUpAsMachine : undefined);
}

function expectedAnswers(
  zone: ZoneConfig,
  own: ReadonlyMap<string, readonly string[]>,
  nameservers: readonly NameserverFacts[],
): ExpectedAnswers {
  const answered = ({ fqdn }: EndpointConfig) =>
    nameservers.flatMap(({ endpoints }) => {
      const heard = endpoints.get(fqdn);
      return heard === undefined ? [] : addressesIn(heard);
    });
  return {
    zone: zone.zone,
    endpoints: new Map(zone.endpoints.map((endpoint) => [endpoint.fqdn, answersOf(endpoint)])),
    answered: new Map(zone.endpoints.map((endpoint) => [endpoint.fqdn, new Set(answered(endpoint))])),
    negativeTtl: zone.soa.negativeTtl,
    nameservers: new Set([...own.values()].flat()),
  };
}

function knownEndpoints(
  { endpoints }: ExpectedAnswers,
  resolvers: readonly ResolverFacts[],
): Map<string, KnownEndpoint> {
  const resolved = (fqdn: string) => {
    const facts = resolvers.filter(({ isOwn }) => isOwn).flatMap((one) => one.endpoints.get(fqdn) ?? []);
    return new Set(facts.flatMap(({ first, otherFamily }) => [...first, ...otherFamily].flatMap(addressesIn)));
  };
  return new Map(
    [...endpoints].map(([fqdn, { addresses }]) => [fqdn, { addresses, resolved: resolved(fqdn) }] as const),
  );
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

/** What a client gets: from the hosts file, the first resolver that answers, or else from a nameserver. */
function received(
  fqdn: string,
  machine: MachineFacts,
  resolvers: readonly ResolverFacts[],
  nameservers: readonly NameserverFacts[],
): string[] {
  const pinned = machine.endpoints.get(fqdn)?.hosts ?? [];
  if (pinned.length > 0) return pinned.map(({ address }) => address);
  for (const { endpoints } of resolvers) {
    const resolved = endpoints.get(fqdn);
    const addresses = [...(resolved?.first.slice(0, 1) ?? []), ...(resolved?.otherFamily ?? [])].flatMap(addressesIn);
    if (addresses.length > 0) return addresses;
  }
  const answered = nameservers.flatMap(({ endpoints }) => endpoints.get(fqdn) ?? []).map(addressesIn);
  return answered.find((addresses) => addresses.length > 0) ?? [];
}
