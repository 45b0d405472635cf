import { randomInt } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { patientAsker } from "../../src/cli/doctor.js";
import { inspectSources } from "../../src/cli/inspect-sources.js";
import { ask } from "../../src/client/ask.js";
import type { ZoneConfig } from "../../src/config/config.js";
import { lookUp } from "../../src/doctor/collect-delegation.js";
import { hostsLines, type LookUpAsMachine, readResolvConf } from "../../src/doctor/collect-machine.js";
import { type DoctorReport, examine } from "../../src/doctor/doctor.js";
import type { SourceFacts } from "../../src/doctor/facts.js";
import type { DoctorSeams } from "../../src/doctor/input.js";
import { createProbeFiles } from "../../src/health/probes/files.js";
import { createRunProbe } from "../../src/health/probes/probe.js";
import { systemClock } from "../../src/lib/clock.js";
import { prepare } from "../../src/server/load-zones.js";
import { startBindAuthoritative, startBindResolver } from "../support/bind.js";
import type { Cleanup } from "../support/cleanup.js";
import { startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { temporaryFolder } from "../support/temp.js";
import { startUnbound } from "../support/unbound.js";
import { waitUntil } from "../support/wait.js";
import { startApiservers } from "./apiservers.js";
import { startDnsmasq } from "./dnsmasq.js";
import { startMiddlebox } from "./middleboxes.js";
import { fill, type Scenario } from "./scenario.js";
import { type SignedParent, startSignedParent, startValidating } from "./validating.js";

/** The servers of all scenarios, running. */
export interface World {
  /** Lets the doctor look at one. */
  examine(scenario: Scenario): Promise<DoctorReport>;
  /** Where to look, for the command line: files of all scenarios, the parent's server, the shared resolver. */
  readonly folder: string;
  readonly parent: string;
  readonly resolver: string;
  readonly port: number;
}

const LOOPBACK = "127.0.0.1";

/**
 * Runs what the scenarios share, all in one corner of 127.0.0.0/8: two livezone instances that serve every zone, the
 * parent zone in BIND, another BIND in the place of a second nameserver, an Unbound, apiservers; and what each needs.
 */
export async function startWorld(scenarios: readonly Scenario[], cleanup: Cleanup): Promise<World> {
  const net = `127.${randomInt(1, 250)}.${randomInt(0, 256)}`;
  const places = {
    ns1: `${net}.1`,
    ns2: `${net}.2`,
    dead: `${net}.9`,
    noAuthority: `${net}.5`,
    noTcp: `${net}.6`,
    noEdns: `${net}.7`,
  };
  const listening = Object.values(places);
  const port = await freePort(LOOPBACK, ...listening);
  // BIND asks every server on its own port, so livezone listens on those of all the BINDs that resolve.
  const bindPorts = new Map<string, number>();
  for (const { name, resolver } of scenarios) {
    if (resolver?.kind.startsWith("bind")) bindPorts.set(name, await freePort(LOOPBACK, ...listening));
  }
  const apiservers = await startApiservers(
    net,
    scenarios.map(({ zone }) => `api.${zone}`),
    cleanup,
  );
  const parentPort = await freePort(LOOPBACK);
  const nowSeconds = Math.floor(Date.now() / 1000);
  const valuesOf = ({ zone }: Scenario) => ({
    ...places,
    ...apiservers.addresses,
    bind: LOOPBACK,
    apiserverPort: apiservers.port,
    port,
    zone,
    serial: nowSeconds - 100,
    futureSerial: nowSeconds + 3600,
  });
  const filled = (scenario: Scenario, path: string) => fill(scenario.file(path) ?? "", valuesOf(scenario));

  const zoneFiles = Object.fromEntries(
    scenarios.flatMap((one) => [[`zones/${one.name}.yaml`, filled(one, "zone.yaml")], ...sourceFiles(one)]),
  );
  function sourceFiles(scenario: Scenario): [string, string][] {
    return scenario.sources.map((file) => [`zones/${scenario.zone}.${file}`, filled(scenario, file)]);
  }
  const startInstance = (address: string) => {
    const listen = [port, ...bindPorts.values()].map((each) => `"${address}:${each}"`).join(", ");
    const main = `listen: [${listen}]\nadmin: { socket: admin.sock }\nzones: [zones/*.yaml]\n`;
    return startLivezone({ files: { "livezone.yaml": main, ...zoneFiles, "ca.crt": apiservers.caPem }, cleanup });
  };
  const fragments = scenarios.map((one) => `$ORIGIN ${one.zone}.\n${filled(one, "parent.zone")}`);
  const parentZone = `$TTL 300\n@ SOA ns hostmaster 1 7200 900 1209600 300\n@ NS ns\nns A ${LOOPBACK}\n${fragments.join("")}`;
  const parentZones = { "example.com": parentZone };
  const staticZones = Object.fromEntries(
    scenarios.flatMap((one) => (one.file("ns2.zone") === undefined ? [] : [[one.zone, filled(one, "ns2.zone")]])),
  );
  const nameserver = { address: places.ns1, port };
  const stubZones = scenarios.map(({ zone }) => ({ name: zone, servers: [nameserver] }));
  const [, , shared] = await Promise.all([
    startInstance(places.ns1),
    startInstance(places.ns2),
    startUnbound({ stubZones, cleanup }),
    startBindAuthoritative({ zones: parentZones, port: parentPort, cleanup }),
    startBindAuthoritative({ zones: staticZones, port, cleanup }),
    startSnooped(places.noAuthority),
    startMiddlebox({ at: { address: places.noTcp, port }, server: nameserver, blocksTcp: true, cleanup }),
    startMiddlebox({ at: { address: places.noEdns, port }, server: nameserver, stripsEdns: true, cleanup }),
  ]);

  // A resolver in the place of a nameserver: it answers from its cache, which is filled here, without authority.
  async function startSnooped(address: string): Promise<void> {
    const serverLines = ["access-control: 127.0.0.0/8 allow_snoop", "cache-min-ttl: 600"];
    const snooped = await startUnbound({ address, port, stubZones, serverLines, cleanup });
    const answers = (name: string, type: string) => async () =>
      (await ask({ server: snooped, name, type })).rcode === "NOERROR";
    for (const { zone } of scenarios.filter((one) => filled(one, "zone.yaml").includes(address))) {
      for (const type of ["SOA", "NS"]) await waitUntil(answers(zone, type));
      await waitUntil(answers(`api.${zone}`, "A"));
    }
  }

  let signed: Promise<SignedParent> | undefined;
  const signedParent = () => {
    signed ??= startSignedParent("example.com", cleanup);
    return signed;
  };
  const resolvers = new Map<string, { address: string; port: number }>();
  const startResolver = async (scenario: Scenario) => {
    const { name, zone, resolver } = scenario;
    if (resolver === undefined) return resolvers.set(name, shared);
    const lines = resolver.lines.map((line) =>
      fill(line, { ...valuesOf(scenario), port: bindPorts.get(name) ?? port }),
    );
    switch (resolver.kind) {
      case "unbound":
        return resolvers.set(
          name,
          await startUnbound({
            stubZones: resolver.ignorant ? [] : [{ name: zone, servers: [nameserver] }],
            serverLines: lines,
            cleanup,
          }),
        );
      case "dnsmasq":
        return resolvers.set(
          name,
          await startDnsmasq({ lines: [`server=/${zone}/${places.ns1}#${port}`, ...lines], cleanup }),
        );
      case "bind":
      case "bind-with-parent": {
        const ownPort = bindPorts.get(name) as number;
        const knows = resolver.ignorant ? {} : { stubZones: { [zone]: [places.ns1] } };
        const holds = resolver.kind === "bind" ? knows : { zones: parentZones };
        return resolvers.set(name, await startBindResolver({ port: ownPort, optionLines: lines, ...holds, cleanup }));
      }
      case "edns-stripped": {
        const at = { address: places.noEdns, port: await freePort(places.noEdns) };
        await startMiddlebox({ at, server: shared, stripsEdns: true, cleanup });
        return resolvers.set(name, at);
      }
      case "unbound-validating":
      case "bind-validating":
      case "recursor-validating":
      case "knot-resolver-validating": {
        const forwarding = { parent: await signedParent(), zone, nameserver, lines };
        return resolvers.set(name, await startValidating(resolver.kind, forwarding, cleanup));
      }
      case "nameserver":
        return resolvers.set(name, nameserver);
      case "absent":
        return resolvers.set(name, { address: places.dead, port });
    }
  };
  await Promise.all(scenarios.map(startResolver));
  // What the machine says for the doctor: the scenario's hosts file and answers, and else its resolver.
  const lookUpAs =
    (scenario: Scenario): LookUpAsMachine =>
    async (name) => {
      const fixed = hostsLines(filled(scenario, "hosts"), name).map(({ address }) => address);
      const said = scenario.getaddrinfo[name.replace(scenario.zone, "<zone>")]?.map((text) =>
        fill(text, valuesOf(scenario)),
      );
      const given = said ?? (fixed.length > 0 ? fixed : undefined);
      const server = resolvers.get(scenario.name) ?? shared;
      const addresses = given ?? (await lookUp(patientAsker(), name, server));
      return addresses.length === 0 ? { problem: `getaddrinfo ENOTFOUND ${name}` } : { addresses };
    };

  const folder = temporaryFolder(cleanup);
  writeFileSync(join(folder, "ca.crt"), apiservers.caPem);
  for (const scenario of scenarios) {
    const own = join(folder, scenario.name);
    mkdirSync(join(own, "zones"), { recursive: true });
    writeFileSync(join(own, "ca.crt"), apiservers.caPem);
    writeFileSync(join(own, "livezone.yaml"), "zones: [zones/*.yaml]\n");
    writeFileSync(join(own, "zones", "zone.yaml"), filled(scenario, "zone.yaml"));
    for (const [file, text] of sourceFiles(scenario)) writeFileSync(join(own, file), text);
    for (const file of [...scenario.manifests, ...scenario.kubeconfigs, "hosts", "resolv.conf"]) {
      if (scenario.file(file) !== undefined) writeFileSync(join(own, file), filled(scenario, file));
    }
  }
  return {
    folder,
    parent: `${LOOPBACK}:${parentPort}`,
    resolver: `${shared.address}:${shared.port}`,
    port,
    examine: (scenario) => {
      const own = join(folder, scenario.name);
      const zones: readonly ZoneConfig[] = prepare(join(own, "livezone.yaml")).config.zones;
      const { address, port: resolverPort } = resolvers.get(scenario.name) ?? shared;
      const parents = {
        given: [{ address: LOOPBACK, port: parentPort }],
        absent: [{ address: places.dead, port }],
        sought: [],
      };
      return examine(
        {
          zones,
          resolvers: [{ server: { address, port: resolverPort }, source: "resolv.conf", isOwn: true }],
          machine: {
            resolvConf: readResolvConf(join(own, "resolv.conf")),
            hostsFile: join(own, "hosts"),
            isCompared: true,
          },
          parents: parents[scenario.parent],
          port,
          parentPort,
          primaries: [nameserver],
          manifests: scenario.manifests.map((file) => join(own, file)),
          kubeconfigs: scenario.kubeconfigs.map((file) => join(own, file)),
        },
        { ...seams(), lookUpAsMachine: lookUpAs(scenario), readSources: (zone) => readAs(scenario, zone) },
      );
    },
  };
}

/** What sources say, and what the scenario's server says of them. */
async function readAs({ server }: Scenario, zone: ZoneConfig): Promise<ReadonlyMap<string, readonly SourceFacts[]>> {
  const heardAtMs = Date.now() - 7_200_000;
  const facts = new Map<string, SourceFacts[]>();
  for (const { fqdn, inspected, inspection } of await inspectSources({ zones: [zone] })) {
    const { problem, ...state } = server ?? {};
    const ofServer = server && { server: { ...state, state: server.state, heardAtMs, ...(problem && { problem }) } };
    facts.set(fqdn, [...(facts.get(fqdn) ?? []), { source: inspected.source, now: inspection, ...ofServer }]);
  }
  return facts;
}

function seams(): Omit<DoctorSeams, "lookUpAsMachine" | "readSources"> {
  return {
    ask: patientAsker(),
    clock: systemClock,
    probe: createRunProbe(systemClock, createProbeFiles()),
    localAddresses: [{ address: "192.0.2.1", prefixLength: 24 }],
    randomLabel: () => `absent-${randomInt(1e9)}`,
  };
}
