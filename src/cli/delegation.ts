import { type Command, InvalidArgumentError, Option } from "commander";
import { parseAddress, parseListenAddress } from "../config/address.js";
import type { Config, ZoneConfig } from "../config/config.js";
import { parseName } from "../config/name.js";
import { UserError } from "../lib/errors.js";
import type { SocketAddress } from "../lib/listening.js";
import { prepare } from "../server/load-zones.js";
import { DNS_PORT } from "../wire/constants.js";
import { CONFIG_OPTION, findConfigFile } from "./config-file.js";
import { DELEGATION_FORMATS, type Delegation, type DelegationFormat, delegationRecords } from "./delegation-formats.js";
import { type SecondaryOptions, secondarySetup } from "./delegation-secondary.js";
import { type CommandContext, EXIT } from "./exit.js";
import { endQuietlyWithoutReader, writeJson } from "./output.js";
import { refusingProblems } from "./problems.js";
import { SECONDARY_FORMATS, type SecondaryKind, type SecondarySetup } from "./secondary-formats.js";

/** TTL of the delegation's records, seconds: it changes rarely, and a mistake should not last a day. */
const DEFAULT_TTL = 3600;

interface DelegationOptions extends Partial<SecondaryOptions> {
  readonly config?: string;
  readonly format: DelegationFormat;
  readonly parent?: string;
  readonly address?: readonly GivenAddress[];
  readonly ttl: number;
  readonly json?: true;
}

/** `--address ns.example.net=192.0.2.1`. */
interface GivenAddress {
  readonly name: string;
  readonly address: string;
}

/** `livezone delegation`: prints what the parent zone, or a resolver, needs to know of a zone. */
export function addDelegation(program: Command, context: CommandContext): void {
  const formats = Object.entries(DELEGATION_FORMATS).map(([format, { about }]) => `  ${format.padEnd(9)} ${about}`);
  const secondaries = Object.entries(SECONDARY_FORMATS).map(([server, { about }]) => `  ${server.padEnd(9)} ${about}`);
  program
    .command("delegation")
    .description("print what to paste into the parent zone, or into a resolver, so that the zone is found")
    .argument("[zone]", "zone of the configuration (default: its only one)")
    .option(...CONFIG_OPTION)
    .addOption(
      new Option("--format <format>", "how to print it").choices(Object.keys(DELEGATION_FORMATS)).default("bind"),
    )
    .option("--parent <zone>", "zone that holds the delegation (default: the zone without its first label)", zoneName)
    .option("--address <name=ip>", "address of a nameserver outside the zone; may be repeated", givenAddress)
    .addOption(
      new Option("--secondary <server>", "print how another server carries the zone instead").choices(
        Object.keys(SECONDARY_FORMATS),
      ),
    )
    .option("--primary <address>", "where that server reaches livezone, IP or IP:PORT; may be repeated", primaryAddress)
    .option("--key <name>", "TSIG key that it signs with (default: the one under transfer.to)")
    .option("--show-secret", "print the key's secret, which SECRET stands for otherwise")
    .option("--ttl <seconds>", "TTL of the delegation's records", wholeSeconds, DEFAULT_TTL)
    .option("--json", "print the records as JSON")
    .addHelpText(
      "after",
      `\nFormats:\n${formats.join("\n")}\n\nServers that can carry the zone (--secondary):\n${secondaries.join("\n")}`,
    )
    .action(async (zone: string | undefined, options: DelegationOptions) => {
      endQuietlyWithoutReader();
      const file = findConfigFile(options.config);
      context.exit(
        await refusingProblems(() => {
          const { config } = prepare(file);
          const { secondary } = options;
          if (secondary !== undefined) {
            const named = zone === undefined ? undefined : chooseZone(config.zones, zone);
            return printSecondary(secondarySetup(config, named, { ...options, secondary }), secondary, options);
          }
          const delegation = delegationOf(chooseZone(config.zones, zone), portOf(config), options);
          const { zone: name, parent } = delegation;
          warnOfPort(delegation, options);
          if (options.json === true)
            writeJson(process.stdout, { zone: name, parent, records: delegationRecords(delegation) });
          else process.stdout.write(DELEGATION_FORMATS[options.format].print(delegation));
          return EXIT.success;
        }, options.json),
      );
    });
}

function printSecondary(setup: SecondarySetup, secondary: SecondaryKind, { json }: DelegationOptions): number {
  if (json === true) writeJson(process.stdout, setup);
  else process.stdout.write(SECONDARY_FORMATS[secondary].print(setup));
  return EXIT.success;
}

function chooseZone(zones: readonly ZoneConfig[], name: string | undefined): ZoneConfig {
  const all = zones.map(({ zone }) => zone);
  if (name === undefined) {
    const [only, second] = zones;
    if (only !== undefined && second === undefined) return only;
    throw new UserError(`the configuration has several zones; name one of ${some(all)}`, "ZONE_NOT_NAMED");
  }
  const wanted = name.toLowerCase().replace(/\.$/, "");
  const found = zones.find(({ zone }) => zone === wanted);
  if (found === undefined)
    throw new UserError(`${name} is no zone of the configuration; it has ${some(all)}`, "ZONE_UNKNOWN");
  return found;
}

function some(names: readonly string[]): string {
  return `${names.slice(0, 5).join(", ")}${names.length > 5 ? ", …" : ""}`;
}

/** The port that livezone listens on: 53 if one of its addresses has that, else the first one's. */
function portOf({ listen }: Config): number {
  const ports = listen.map(({ port }) => port);
  return ports.includes(DNS_PORT) ? DNS_PORT : (ports[0] ?? DNS_PORT);
}

function warnOfPort({ port }: Delegation, { format, json }: DelegationOptions): void {
  if (port === DNS_PORT || (json !== true && DELEGATION_FORMATS[format].namesPort)) return;
  process.stderr.write(
    `warning: livezone listens on port ${port}, and a delegation leads to port ${DNS_PORT}: listen there, or forward it\n`,
  );
}

function delegationOf(
  { zone, nameservers }: ZoneConfig,
  port: number,
  { parent, ttl, address = [] }: DelegationOptions,
): Delegation {
  const above = parent ?? (zone.includes(".") ? zone.slice(zone.indexOf(".") + 1) : ".");
  if (above !== "." && !zone.endsWith(`.${above}`)) {
    throw new UserError(`${zone} does not lie in ${above}`, "PARENT_NOT_ABOVE");
  }
  return {
    zone,
    parent: above,
    ttl,
    port,
    nameservers: nameservers.map(({ name, addresses }) => {
      const absolute = (name.endsWith(".") ? name.slice(0, -1) : `${name}.${zone}`).toLowerCase();
      const given = address.filter((one) => one.name === absolute).map((one) => one.address);
      return { name: absolute, addresses: [...addresses, ...given] };
    }),
  };
}

function primaryAddress(text: string, previous: readonly SocketAddress[] = []): SocketAddress[] {
  const bare = parseAddress(text);
  if ("value" in bare) return [...previous, { address: bare.value, port: DNS_PORT }];
  const parsed = parseListenAddress(text);
  if ("value" in parsed) return [...previous, parsed.value];
  throw new InvalidArgumentError('Write an address such as "192.0.2.53" or "192.0.2.53:5353".');
}

function givenAddress(text: string, previous: readonly GivenAddress[] = []): GivenAddress[] {
  const [name = "", literal] = text.split("=", 2);
  const parsedName = parseName(name, "hostname");
  const parsed = parseAddress(literal);
  if ("value" in parsedName && "value" in parsed) {
    return [...previous, { name: parsedName.value, address: parsed.value }];
  }
  throw new InvalidArgumentError("Write a nameserver and its address, such as ns.example.net=192.0.2.53.");
}

function zoneName(text: string): string {
  if (text === ".") return text;
  const parsed = parseName(text, "any");
  if ("value" in parsed) return parsed.value;
  throw new InvalidArgumentError(`${parsed.why}. ${parsed.remedy}`);
}

function wholeSeconds(text: string): number {
  const seconds = Number(text);
  if (/^[0-9]+$/.test(text) && seconds >= 1 && seconds <= 604_800) return seconds;
  throw new InvalidArgumentError("Write whole seconds, 1 to 604800.");
}
