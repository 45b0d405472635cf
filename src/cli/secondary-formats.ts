import { UserError } from "../lib/errors.js";
import { formatAddress, type SocketAddress } from "../lib/listening.js";
import { DNS_PORT } from "../wire/constants.js";

/** What another server is told so that it carries zones. */
export interface SecondarySetup {
  /** Without the trailing dot; at least one. */
  readonly zones: readonly string[];
  /** Where livezone is asked; at least one. */
  readonly primaries: readonly SocketAddress[];
  /** Signs the requests; absent = nothing is signed. */
  readonly key?: {
    readonly name: string;
    readonly algorithm: "hmac-sha256" | "hmac-sha512";
    /** Base64, or what stands in its place. */
    readonly secret: string;
  };
  /** A catalog zone that names the zones; absent = there is none, or the server cannot read one. */
  readonly catalog?: string;
}

interface SecondaryFormat {
  readonly about: string;
  readonly print: (setup: SecondarySetup) => string;
  /** Whether it signs with TSIG. */
  readonly signs: boolean;
  /** Whether it asks another port than 53. */
  readonly namesPort: boolean;
  /** Whether it learns zones from a catalog zone (RFC 9432). */
  readonly readsCatalog: boolean;
}

/** Every server that can be told to carry a zone: what is printed for it, and what it can do. */
export const SECONDARY_FORMATS = {
  knot: { about: "knot.conf", print: knot, signs: true, namesPort: true, readsCatalog: true },
  nsd: { about: "nsd.conf", print: nsd, signs: true, namesPort: true, readsCatalog: false },
  bind: {
    about: "named.conf, authoritative or resolver",
    print: bind,
    signs: true,
    namesPort: true,
    readsCatalog: true,
  },
  unbound: { about: "unbound.conf of a resolver", print: unbound, signs: false, namesPort: true, readsCatalog: false },
  powerdns: { about: "pdns.conf, and pdnsutil", print: powerdns, signs: true, namesPort: true, readsCatalog: true },
  coredns: {
    about: "a server block for a Corefile",
    print: coredns,
    signs: false,
    namesPort: true,
    readsCatalog: false,
  },
  windows: { about: "PowerShell for Windows DNS", print: windows, signs: false, namesPort: false, readsCatalog: false },
  infoblox: { about: "bodies of WAPI requests", print: infoblox, signs: true, namesPort: false, readsCatalog: false },
} as const satisfies Record<string, SecondaryFormat>;

export type SecondaryKind = keyof typeof SECONDARY_FORMATS;

function lines(...parts: readonly (string | readonly string[])[]): string {
  return `${parts.flat().join("\n")}\n`;
}

/** `livezone` where there is one, `livezone1` and so on where there are several. */
function names({ primaries }: SecondarySetup): string[] {
  return primaries.map((_, index) => (primaries.length === 1 ? "livezone" : `livezone${index + 1}`));
}

function knot(setup: SecondarySetup): string {
  const { primaries, key, catalog, zones } = setup;
  const ids = names(setup);
  const keyLine = key === undefined ? [] : [`    key: ${key.name}`];
  const keyPart =
    key === undefined
      ? []
      : ["key:", `  - id: ${key.name}`, `    algorithm: ${key.algorithm}`, `    secret: ${key.secret}`];
  const zone = (domain: string): string[] => [
    `  - domain: ${domain}`,
    `    master: [${ids.join(", ")}]`,
    "    acl: livezone-notify",
  ];
  const byCatalog =
    catalog === undefined
      ? []
      : [
          "template:",
          "  - id: livezone-member",
          `    master: [${ids.join(", ")}]`,
          "    acl: livezone-notify",
          "zone:",
          ...zone(catalog),
          "    catalog-role: interpret",
          "    catalog-template: livezone-member",
        ];
  return lines(
    "# Into knot.conf.",
    keyPart,
    "remote:",
    primaries.flatMap(({ address, port }, index) => [
      `  - id: ${ids[index]}`,
      `    address: ${address}@${port}`,
      ...keyLine,
    ]),
    "acl:",
    "  - id: livezone-notify",
    `    address: [${primaries.map(({ address }) => address).join(", ")}]`,
    keyLine,
    "    action: notify",
    catalog === undefined ? ["zone:", ...zones.flatMap(zone)] : byCatalog,
  );
}

function nsd({ zones, primaries, key }: SecondarySetup): string {
  const signed = key?.name ?? "NOKEY";
  return lines(
    "# Into nsd.conf.",
    key === undefined
      ? []
      : ["key:", `  name: "${key.name}"`, `  algorithm: ${key.algorithm}`, `  secret: "${key.secret}"`],
    zones.flatMap((zone) => [
      "zone:",
      `  name: "${zone}"`,
      `  zonefile: "${zone}.zone"`,
      ...primaries.flatMap(({ address, port }) => [
        `  allow-notify: ${address} ${signed}`,
        `  request-xfr: ${address}@${port} ${signed}`,
      ]),
    ]),
  );
}

function bind({ zones, primaries, key, catalog }: SecondarySetup): string {
  const suffix = key === undefined ? "" : ` key "${key.name}"`;
  const list = primaries.map(({ address, port }) => `${address} port ${port}${suffix};`).join(" ");
  const clause = (zone: string): string =>
    `zone "${zone}" { type secondary; primaries { ${list} }; file "${zone}.zone"; min-refresh-time 60; };`;
  return lines(
    "// Into named.conf; a BIND that also resolves answers for the zone by itself then.",
    key === undefined ? [] : `key "${key.name}" { algorithm ${key.algorithm}; secret "${key.secret}"; };`,
    catalog === undefined
      ? zones.map(clause)
      : [
          "// Into the options clause; a catalog's zones are kept in the folder of that clause.",
          `// catalog-zones { zone "${catalog}" default-primaries { ${list} }; };`,
          clause(catalog),
        ],
  );
}

/** Domains that Unbound answers by itself unless it is told not to (its manual, `local-zone`). */
const ANSWERED_BY_UNBOUND: readonly string[] = ["home.arpa", "invalid", "localhost", "onion", "test"];

function unbound({ zones, primaries }: SecondarySetup): string {
  const own = ANSWERED_BY_UNBOUND.filter((domain) =>
    zones.some((zone) => zone === domain || zone.endsWith(`.${domain}`)),
  );
  const onLoopback = primaries.some(({ address }) => /^127\.|^::1$/.test(address));
  return lines(
    "# Into unbound.conf. Unbound signs nothing: name its address under transfer.to without a key.",
    "server:",
    zones.map((zone) => `  domain-insecure: "${zone}"`),
    own.map((domain) => `  local-zone: "${domain}." nodefault`),
    onLoopback ? ["  do-not-query-localhost: no"] : [],
    zones.flatMap((zone) => [
      "auth-zone:",
      `  name: "${zone}"`,
      ...primaries.flatMap(({ address, port }) => [`  primary: ${address}@${port}`, `  allow-notify: ${address}`]),
      "  for-downstream: yes",
      "  for-upstream: yes",
      "  fallback-enabled: no",
    ]),
  );
}

function powerdns({ zones, primaries, key, catalog }: SecondarySetup): string {
  const list = primaries.map(placeText).join(" ");
  const commands = (zone: string): string[] => [
    `pdnsutil create-secondary-zone ${zone} ${list}`,
    ...(key === undefined ? [] : [`pdnsutil activate-tsig-key ${zone} ${key.name} secondary`]),
  ];
  return lines(
    "# Into pdns.conf:",
    "#   secondary=yes",
    "#   xfr-cycle-interval=1",
    "# Leave IXFR off, as it is by default: PowerDNS 4.7.3 stores what an IXFR changes in a way that it answers NODATA for.",
    key === undefined ? [] : `pdnsutil import-tsig-key ${key.name} ${key.algorithm} ${key.secret}`,
    catalog === undefined ? zones.flatMap(commands) : [...commands(catalog), `pdnsutil set-kind ${catalog} consumer`],
    catalog === undefined || key === undefined
      ? []
      : [
          "# PowerDNS 4.7 asks for the zones of a catalog without a key. Name its address under transfer.to without one, or run for each zone:",
          `#   pdnsutil activate-tsig-key ZONE ${key.name} secondary`,
        ],
  );
}

function coredns({ zones, primaries }: SecondarySetup): string {
  return lines(
    "# Into the Corefile. CoreDNS signs nothing: name its address under transfer.to without a key. It asks for whole zones.",
    zones.flatMap((zone) => [
      `${zone}:53 {`,
      "    errors",
      "    secondary {",
      `        transfer from ${primaries.map(placeText).join(" ")}`,
      "    }",
      "}",
    ]),
  );
}

function windows({ zones, primaries }: SecondarySetup): string {
  const masters = primaries.map(({ address }) => `"${address}"`).join(",");
  return lines(
    "# As an administrator. Windows DNS signs nothing: name its address under transfer.to without a key.",
    zones.map((zone) => `Add-DnsServerSecondaryZone -Name "${zone}" -ZoneFile "${zone}.dns" -MasterServers ${masters}`),
  );
}

function infoblox({ zones, primaries, key }: SecondarySetup): string {
  if (key?.algorithm === "hmac-sha512") {
    throw new UserError(`Infoblox knows no hmac-sha512, and ${key.name} is such a key`, "SECONDARY_KEY_ALGORITHM");
  }
  const external = primaries.map(({ address }, index) => ({
    name: `livezone${index + 1}`,
    address,
    ...(key === undefined
      ? {}
      : { use_tsig_key_name: true, tsig_key_name: key.name, tsig_key_alg: "HMAC-SHA256", tsig_key: key.secret }),
  }));
  const bodies = zones.map((fqdn) => ({
    fqdn,
    use_external_primary: true,
    external_primaries: external,
    grid_secondaries: [{ name: "MEMBER" }],
    comment: "livezone: answers with the apiservers that are ready",
  }));
  return bodies.map((body) => `${JSON.stringify(body, undefined, 2)}\n`).join("");
}

/** An address, with the port where that is not 53. */
function placeText({ address, port }: SocketAddress): string {
  return port === DNS_PORT ? address : formatAddress({ address, port });
}
