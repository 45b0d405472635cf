import { bindRecipe, type ServedZones, type ZoneTexts } from "./recipes.js";
import { type RunningServer, type ServerOptions, startServer } from "./servers.js";

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

export interface BindAuthoritativeOptions extends BindOptions, ServedZones {}

/** Runs BIND as an authoritative server without recursion: the parent zone of a delegation, say. */
export function startBindAuthoritative(options: BindAuthoritativeOptions): Promise<RunningServer> {
  return startNamed(options, ["recursion no;"], options.zones ?? {}, {}, options.secondaryZones);
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
  zones: ZoneTexts,
  stubZones: Readonly<Record<string, readonly string[]>>,
  secondaryZones: ServedZones["secondaryZones"] = {},
): Promise<RunningServer> {
  const clauses = Object.entries(stubZones).map(([name, servers]) => {
    const addresses = servers.map((address) => `${address};`).join(" ");
    return `zone "${name}" { type static-stub; server-addresses { ${addresses} }; };`;
  });
  const recipe = bindRecipe({
    zones,
    secondaryZones,
    clauses,
    optionLines: [...optionLines, ...(options.optionLines ?? [])],
  });
  return startServer(options, recipe);
}
