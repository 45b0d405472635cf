import { isIPv6 } from "node:net";
import { join } from "node:path";

/** How other DNS servers are configured and run, for tests and for the benchmark. Nothing here starts anything. */

/** A place that is known once a server is about to start. */
export interface ServerPlace {
  readonly address: string;
  readonly port: number;
  /** Private, empty, removed at the end. */
  readonly folder: string;
}

/** How one kind of server is configured and run: in the foreground, without chroot or syslog. */
export interface ServerRecipe {
  readonly program: string;
  /** Files to write into the folder, by name. */
  files(place: ServerPlace): Readonly<Record<string, string>>;
  args(place: ServerPlace): readonly string[];
}

/** Zones by name, as master-file text. */
export type ZoneTexts = Readonly<Record<string, string>>;

/** A server that a zone is transferred from, which may send NOTIFY. */
export interface Primary {
  readonly address: string;
  readonly port: number;
}

/** What an authoritative server serves. */
export interface ServedZones {
  readonly zones?: ZoneTexts;
  /** Zones that are transferred from another server, by name. */
  readonly secondaryZones?: Readonly<Record<string, Primary>>;
}

/** A zone and the servers that a resolver asks for it. */
export interface StubZone {
  readonly name: string;
  readonly servers: readonly { readonly address: string; readonly port: number }[];
}

/**
 * Root hints that lead nowhere: a resolver asked for a name that it does not know must not leave the machine.
 * Nothing listens on that address, so it gives up at once.
 */
export const DEAD_END_HINTS = ". 3600000 NS dead-end.invalid.\ndead-end.invalid. 3600000 A 127.255.255.254\n";

const indented = (lines: readonly string[] = []) => lines.map((line) => `  ${line}\n`).join("");

/** The texts of zones as files, `zone-0` for the first. */
const zoneFiles = (zones: ZoneTexts = {}) =>
  Object.fromEntries(Object.values(zones).map((text, index) => [`zone-${index}`, text]));

/** A clause for each zone. */
function zoneClauses(
  { zones = {}, secondaryZones = {} }: ServedZones,
  primary: (name: string, file: string) => string,
  secondary: (name: string, from: Primary, file: string) => string,
): string {
  return [
    ...Object.keys(zones).map((name, index) => primary(name, `zone-${index}`)),
    ...Object.entries(secondaryZones).map(([name, from], index) => secondary(name, from, `secondary-${index}`)),
  ].join("\n");
}

/** Knot DNS. It never writes to its zones. `serverLines`: for the `server:` section. */
export function knotRecipe(options: ServedZones & { readonly serverLines?: readonly string[] }): ServerRecipe {
  const secondaries = Object.entries(options.secondaryZones ?? {});
  const remotes = secondaries.map(
    ([, { address, port }], index) => `  - id: primary-${index}\n    address: ${address}@${port}\n`,
  );
  const rules = secondaries.map(([, { address }], index) => {
    return `  - id: notify-${index}\n    address: ${address}\n    action: notify\n`;
  });
  return {
    program: "knotd",
    args: ({ folder }) => ["-c", join(folder, "knot.conf")],
    files: ({ address, port, folder }) => ({
      ...zoneFiles(options.zones),
      "knot.conf": `server:
  rundir: "${folder}"
  listen: ${address}@${port}
  udp-workers: 1
  tcp-workers: 1
  background-workers: 1
${indented(options.serverLines)}
log:
  - target: stderr
    any: info
database:
  storage: "${folder}"
${remotes.length === 0 ? "" : `remote:\n${remotes.join("")}acl:\n${rules.join("")}`}
template:
  - id: default
    storage: "${folder}"
    zonefile-sync: -1
    zonefile-load: whole
    journal-content: none
zone:
${zoneClauses(
  options,
  (name, file) => `  - domain: ${name}\n    file: ${file}`,
  (name, _from, file) => {
    const index = file.slice("secondary-".length);
    return `  - domain: ${name}\n    file: ${file}\n    zonefile-load: none\n    master: primary-${index}\n    acl: notify-${index}`;
  },
)}
`,
    }),
  };
}

/** NSD, without rate limits. `serverLines`: for the `server:` clause. `minimalResponses`: default false. */
export function nsdRecipe(
  options: ServedZones & { readonly serverLines?: readonly string[]; readonly minimalResponses?: boolean },
): ServerRecipe {
  return {
    program: "nsd",
    args: ({ folder }) => ["-d", "-c", join(folder, "nsd.conf")],
    files: ({ address, port, folder }) => ({
      ...zoneFiles(options.zones),
      "nsd.conf": `server:
  ip-address: ${address}@${port}
  port: ${port}
  server-count: 1
  username: ""
  chroot: ""
  zonesdir: "${folder}"
  database: ""
  pidfile: ""
  logfile: ""
  xfrdfile: "${join(folder, "xfrd.state")}"
  xfrdir: "${folder}"
  zonelistfile: "${join(folder, "zone.list")}"
  zonefiles-write: 0
  rrl-ratelimit: 0
  minimal-responses: ${options.minimalResponses ? "yes" : "no"}
${indented(options.serverLines)}
remote-control:
  control-enable: no
${zoneClauses(
  options,
  (name, file) => `zone:\n  name: "${name}"\n  zonefile: "${file}"`,
  (name, from, file) =>
    `zone:\n  name: "${name}"\n  zonefile: "${file}"\n  allow-notify: ${from.address} NOKEY\n  request-xfr: ${from.address}@${from.port} NOKEY`,
)}
`,
    }),
  };
}

/**
 * BIND. `optionLines`: for the `options` clause; `clauses`: more of them. BIND listens only on addresses that an interface
 * lists: on loopback those are `127.0.0.1` and `::1`.
 */
export function bindRecipe(
  options: ServedZones & { readonly optionLines?: readonly string[]; readonly clauses?: readonly string[] },
): ServerRecipe {
  const zones = zoneClauses(
    options,
    (name, file) => `zone "${name}" { type primary; file "${file}"; };`,
    (name, from, file) =>
      `zone "${name}" { type secondary; file "${file}"; primaries { ${from.address} port ${from.port}; }; };`,
  );
  return {
    program: "named",
    // -g: foreground, logging to stderr.
    args: ({ folder }) => ["-g", "-n", "1", "-c", join(folder, "named.conf")],
    files: (place) => ({
      ...zoneFiles(options.zones),
      "root.hints": DEAD_END_HINTS,
      "named.conf": namedConf(options.optionLines ?? [], [zones, ...(options.clauses ?? [])], place),
    }),
  };
}

function namedConf(
  optionLines: readonly string[],
  clauses: readonly string[],
  { address, port, folder }: ServerPlace,
): string {
  const none = "{ none; }";
  return `options {
  directory "${folder}";
  port ${port};
  listen-on ${isIPv6(address) ? none : `{ ${address}; }`};
  listen-on-v6 ${isIPv6(address) ? `{ ${address}; }` : none};
  pid-file none;
  session-keyfile none;
  managed-keys-directory "${folder}";
  dnssec-validation no;
  empty-zones-enable no;
  notify no;
  allow-query { any; };
${indented(optionLines)}};
controls { };
zone "." { type hint; file "root.hints"; };
${clauses.join("\n")}
`;
}

/** PowerDNS Authoritative with its BIND backend, without caches, so that a change is seen at once. `serverLines`: for `pdns.conf`. */
export function powerdnsRecipe(options: ServedZones & { readonly serverLines?: readonly string[] }): ServerRecipe {
  return {
    program: "pdns_server",
    args: ({ folder }) => [`--config-dir=${folder}`],
    files: ({ address, port, folder }) => ({
      ...zoneFiles(options.zones),
      "pdns.conf": `launch=bind
bind-config=${join(folder, "named.conf")}
local-address=${address}
local-port=${port}
socket-dir=${folder}
daemon=no
guardian=no
secondary=yes
xfr-cycle-interval=1
receiver-threads=1
distributor-threads=1
security-poll-suffix=
cache-ttl=0
query-cache-ttl=0
negquery-cache-ttl=0
zone-cache-refresh-interval=0
${(options.serverLines ?? []).map((line) => `${line}\n`).join("")}`,
      "named.conf": zoneClauses(
        options,
        (name, file) => `zone "${name}" { type native; file "${join(folder, file)}"; };`,
        (name, from, file) =>
          `zone "${name}" { type slave; file "${join(folder, file)}"; masters { ${from.address}:${from.port}; }; };`,
      ),
    }),
  };
}

/**
 * Unbound as a resolver that knows only its stub and forward zones and refuses all other names (its built-in
 * answers for `test.` and the like, RFC 6761, included). DNSSEC validation is off, loopback servers are asked.
 */
export function unboundRecipe(options: {
  readonly stubZones?: readonly StubZone[];
  readonly forwardZones?: readonly StubZone[];
  readonly serverLines?: readonly string[];
}): ServerRecipe {
  const { stubZones = [], forwardZones = [], serverLines = [] } = options;
  const clauses = (kind: "stub" | "forward", zones: readonly StubZone[]) =>
    zones.map(({ name, servers }) => {
      const addresses = servers.map(({ address, port }) => `  ${kind}-addr: ${address}@${port}\n`);
      return `${kind}-zone:\n  name: "${name}"\n${addresses.join("")}`;
    });
  const known = [...stubZones, ...forwardZones].map(({ name }) => `local-zone: "${name}" transparent`);
  return {
    program: "unbound",
    args: ({ folder }) => ["-d", "-c", join(folder, "unbound.conf")],
    files: ({ address, port, folder }) => ({
      "root.hints": DEAD_END_HINTS,
      "unbound.conf": `server:
  interface: ${address}@${port}
  port: ${port}
  access-control: 127.0.0.0/8 allow
  access-control: ::1 allow
  directory: "${folder}"
  chroot: ""
  username: ""
  pidfile: ""
  use-syslog: no
  logfile: ""
  num-threads: 1
  module-config: "iterator"
  root-hints: "root.hints"
  do-not-query-localhost: no
  local-zone: "." refuse
${indented(known)}  target-fetch-policy: "0 0 0 0 0"
${indented(serverLines)}
remote-control:
  control-enable: yes
  control-interface: "${join(folder, "control.sock")}"
  control-use-cert: no
${[...clauses("stub", stubZones), ...clauses("forward", forwardZones)].join("")}`,
    }),
  };
}
