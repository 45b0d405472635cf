import { randomBytes } from "node:crypto";
import { lookup } from "node:dns/promises";
import { networkInterfaces } from "node:os";
import { type Command, InvalidArgumentError } from "commander";
import { ask } from "../client/ask.js";
import { parseAddress, parseListenAddress } from "../config/address.js";
import type { ZoneConfig } from "../config/config.js";
import { type LookUpAsMachine, readResolvConf } from "../doctor/collect-machine.js";
import type { ResolverPlace } from "../doctor/collect-resolver.js";
import type { LocalAddress } from "../doctor/dial-order.js";
import { examine } from "../doctor/doctor.js";
import type { Asker, ResolvConfFacts } from "../doctor/facts.js";
import type { DoctorInput, DoctorSeams } from "../doctor/input.js";
import { renderReport } from "../doctor/report.js";
import { createProbeFiles } from "../health/probes/files.js";
import { createRunProbe } from "../health/probes/probe.js";
import { systemClock } from "../lib/clock.js";
import { codeOf, messageOf, UserError } from "../lib/errors.js";
import type { SocketAddress } from "../lib/listening.js";
import { prepare } from "../server/load-zones.js";
import { DNS_PORT } from "../wire/constants.js";
import { CONFIG_OPTION, findConfigFile } from "./config-file.js";
import { type CommandContext, EXIT } from "./exit.js";
import { endQuietlyWithoutReader, writeJson } from "./output.js";
import { refusingProblems } from "./problems.js";
import { readSources } from "./read-sources.js";

/** Milliseconds one question may take; a timeout is tried a second time, for UDP loses packets. */
const QUESTION_TIMEOUT_MS = 1_500;

interface DoctorOptions {
  readonly config?: string;
  readonly resolver?: readonly SocketAddress[];
  readonly parent?: readonly SocketAddress[];
  readonly port: number;
  readonly manifest?: readonly string[];
  readonly kubeconfig?: readonly string[];
  readonly resolvConf: string;
  readonly hostsFile: string;
  readonly json?: true;
}

/** `livezone doctor`: looks at the whole chain as a client would. */
export function addDoctor(program: Command, context: CommandContext): void {
  program
    .command("doctor")
    .description("look at the whole chain as a client would: parent zone, nameservers, resolvers, apiservers, files")
    .argument("[name]", "endpoint or zone to look at (default: all of the configuration)")
    .option(...CONFIG_OPTION)
    .option("--resolver <address>", "resolver to ask, IP or IP:PORT; may be repeated (default: resolv.conf's)", place)
    .option("--parent <address>", "server of the parent zone; may be repeated (default: looked for)", place)
    .option("--port <port>", "port of the zone's nameservers", portNumber, DNS_PORT)
    .option("--manifest <file>", "static Pod manifest of a kube-apiserver to judge; may be repeated", collect)
    .option(
      "--kubeconfig <file>",
      "kubeconfig, or file of kube-proxy or Cilium (ConfigMap, DaemonSet, Helm values), to judge; may be repeated",
      collect,
    )
    .option("--resolv-conf <file>", "where this machine's resolvers are named", "/etc/resolv.conf")
    .option("--hosts-file <file>", "where this machine's fixed names are", "/etc/hosts")
    .option("--json", "print the report as JSON")
    .action(async (name: string | undefined, options: DoctorOptions) => {
      endQuietlyWithoutReader();
      const file = findConfigFile(options.config);
      context.exit(await refusingProblems(() => doctor(file, name, options), options.json));
    });
}

async function doctor(file: string, name: string | undefined, options: DoctorOptions): Promise<number> {
  const { config } = prepare(file);
  const zones = chooseZones(config.zones, name);
  const input = doctorInput(zones, config.listen, options);
  const isTerminal = process.stdout.isTTY === true;
  if (isTerminal) process.stderr.write("livezone: looking; caches are watched until the TTL has run out\n");
  const report = await examine(input, { ...systemSeams(), readSources: (zone) => readSources(zone, file) });
  if (options.json === true) writeJson(process.stdout, report);
  else {
    const style = { colour: isTerminal && (process.env.NO_COLOR ?? "") === "" };
    process.stdout.write(renderReport(report, isTerminal ? { ...style, width: process.stdout.columns } : style));
  }
  return report.healthy ? EXIT.success : EXIT.failure;
}

/** The zones with the endpoints that `name` stands for. @throws UserError if it stands for none */
function chooseZones(zones: readonly ZoneConfig[], name: string | undefined): readonly ZoneConfig[] {
  if (name === undefined) return zones;
  const wanted = name.toLowerCase().replace(/\.$/, "");
  const chosen = zones.flatMap((zone) => {
    if (zone.zone === wanted) return [zone];
    const endpoints = zone.endpoints.filter(({ fqdn }) => fqdn === wanted);
    return endpoints.length === 0 ? [] : [{ ...zone, endpoints }];
  });
  if (chosen.length > 0) return chosen;
  const names = zones.flatMap((zone) => zone.endpoints.map(({ fqdn }) => fqdn));
  const some = names.slice(0, 5).join(", ");
  throw new UserError(
    `${name} is no endpoint and no zone of the configuration; it has ${some}${names.length > 5 ? ", …" : ""}`,
    "NAME_UNKNOWN",
  );
}

/** Where a server that listens on all addresses is reached from its own machine. */
const LOOPBACK_OF: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

function doctorInput(
  zones: readonly ZoneConfig[],
  listen: readonly SocketAddress[],
  options: DoctorOptions,
): DoctorInput {
  const { resolver = [], parent = [], manifest = [], kubeconfig = [] } = options;
  const resolvConf = readResolvConf(options.resolvConf);
  const own = resolversOf(resolvConf);
  const given = resolver.map((server) => ({ server, source: "--resolver", isOwn: false }));
  // Whatever resolver is asked, this machine's own must not be livezone.
  const nameservers = new Set(zones.flatMap((zone) => zone.nameservers.flatMap(({ addresses }) => addresses)));
  const wrong = own.filter(({ server }) => nameservers.has(server.address));
  return {
    zones,
    resolvers: given.length === 0 ? own : [...given, ...wrong],
    machine: { resolvConf, hostsFile: options.hostsFile, isCompared: given.length === 0 },
    parents: parent,
    primaries: listen.map(({ address, port }) => ({ address: LOOPBACK_OF[address] ?? address, port })),
    port: options.port,
    parentPort: DNS_PORT,
    manifests: manifest,
    kubeconfigs: kubeconfig,
  };
}

/** Those that clients ask; this machine itself where none is named, as resolv.conf(5) has it. */
function resolversOf({ file, nameservers }: ResolvConfFacts): ResolverPlace[] {
  const place = (address: string, source: string) => ({ server: { address, port: DNS_PORT }, source, isOwn: true });
  if (nameservers.length === 0) return [place("127.0.0.1", `${file} names none`)];
  return nameservers.map((address) => place(address, file));
}

function systemSeams(): Omit<DoctorSeams, "readSources"> {
  return {
    ask: patientAsker(),
    clock: systemClock,
    probe: createRunProbe(systemClock, createProbeFiles()),
    lookUpAsMachine: lookUpWithSystem,
    localAddresses: localAddresses(),
    randomLabel: () => `livezone-doctor-${randomBytes(6).toString("hex")}`,
  };
}

/** Asks over the network, a second time if nothing came back. */
export function patientAsker(): Asker {
  return async (question) => {
    let silence = "";
    for (let attempt = 0; attempt < 2; attempt += 1) {
      try {
        return { reply: await ask({ ...question, timeoutMs: QUESTION_TIMEOUT_MS }) };
      } catch (error) {
        silence = messageOf(error);
        if (codeOf(error) !== "ASK_TIMEOUT") break;
      }
    }
    return { silence };
  };
}

/** `getaddrinfo`: by nsswitch.conf, the hosts file and the resolvers, as most programs do. */
export const lookUpWithSystem: LookUpAsMachine = async (name) => {
  try {
    return { addresses: (await lookup(name, { all: true })).map(({ address }) => address) };
  } catch (error) {
    return { problem: messageOf(error) };
  }
};

function localAddresses(): LocalAddress[] {
  return Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.map(({ address, cidr }) => ({ address, prefixLength: Number(cidr?.split("/")[1] ?? 0) })),
  );
}

function place(text: string, previous: readonly SocketAddress[] = []): SocketAddress[] {
  const bare = parseAddress(text);
  if ("value" in bare) return [...previous, { address: bare.value, port: DNS_PORT }];
  const parsed = parseListenAddress(text);
  if ("value" in parsed) return [...previous, parsed.value];
  throw new InvalidArgumentError('Write an address such as "192.0.2.1", "192.0.2.1:5353" or "[2001:db8::1]:5353".');
}

function portNumber(text: string): number {
  const port = Number(text);
  if (/^[0-9]+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new InvalidArgumentError("That is not a port. Write a number from 1 to 65535.");
}

function collect(value: string, previous: readonly string[] = []): string[] {
  return [...previous, value];
}
