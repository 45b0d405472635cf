import { isIPv6 } from "node:net";
import { join } from "node:path";
import { DEAD_END_HINTS, type RunningServer, type ServerOptions, type ServerPlace, startServer } from "./servers.js";

/** Zones by name, as master-file text. */
export type ZoneTexts = Readonly<Record<string, string>>;

/**
 * BIND listens only on addresses that an interface lists: on loopback those are `127.0.0.1` and `::1`, not the rest
 * of 127.0.0.0/8 (no namespace: no more than two of them on one port).
 */
interface BindOptions extends ServerOptions {
  /** `127.0.0.1` (default) or `::1`. */
  readonly address?: "127.0.0.1" | "::1";
  /** Lines for the `options` clause, e.g. `max-cache-ttl 10;`. */
  readonly optionLines?: readonly string[];
}

export interface BindAuthoritativeOptions extends BindOptions {
  readonly zones: ZoneTexts;
}

/** Runs BIND as an authoritative server without recursion: the parent zone of a delegation, say. */
export function startBindAuthoritative(options: BindAuthoritativeOptions): Promise<RunningServer> {
  return startNamed(options, ["recursion no;"], options.zones, {});
}

export interface BindResolverOptions extends BindOptions {
  /**
   * Required, unlike elsewhere: BIND asks all servers, static-stub and delegated ones alike, on the port it listens
   * on itself (`options { port }`). So the resolver and all servers share one port, on different addresses.
   */
  readonly port: number;
  /** Addresses of the servers of each zone (`static-stub`). */
  readonly stubZones?: Readonly<Record<string, readonly string[]>>;
  /** Zones of its own; it follows their delegations, as a corporate BIND that serves the parent zone does. */
  readonly zones?: ZoneTexts;
}

/** Runs BIND as a resolver that knows only the zones given and what they delegate. No DNSSEC validation. */
export function startBindResolver(options: BindResolverOptions): Promise<RunningServer> {
  const lines = ["recursion yes;", "allow-recursion { 127.0.0.0/8; ::1; };"];
  return startNamed(options, lines, options.zones ?? {}, options.stubZones ?? {});
}

function startNamed(
  options: BindOptions,
  optionLines: readonly string[],
  zoneTexts: ZoneTexts,
  stubZones: Readonly<Record<string, readonly string[]>>,
): Promise<RunningServer> {
  const zones = Object.entries(zoneTexts);
  const clauses = [
    `zone "." { type hint; file "root.hints"; };`,
    ...zones.map(([name], i) => `zone "${name}" { type primary; file "zone-${i}"; };`),
    ...Object.entries(stubZones).map(([name, servers]) => {
      const addresses = servers.map((address) => `${address};`).join(" ");
      return `zone "${name}" { type static-stub; server-addresses { ${addresses} }; };`;
    }),
  ];
  return startServer(options, {
    program: "named",
    // -g: foreground, logging to stderr.
    args: ({ folder }) => ["-g", "-n", "1", "-c", join(folder, "named.conf")],
    files: (place) => ({
      ...Object.fromEntries(zones.map(([, text], i) => [`zone-${i}`, text])),
      "root.hints": DEAD_END_HINTS,
      "named.conf": namedConf([...optionLines, ...(options.optionLines ?? [])], clauses, place),
    }),
  });
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
${optionLines.map((line) => `  ${line}\n`).join("")}};
controls { };
${clauses.join("\n")}
`;
}
