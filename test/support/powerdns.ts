import { powerdnsRecipe, type ServedZones } from "./recipes.js";
import { type RunningServer, type ServerOptions, startServer } from "./servers.js";

export interface PowerdnsOptions extends ServerOptions, ServedZones {
  /** Lines for `pdns.conf`. */
  readonly serverLines?: readonly string[];
}

/** Runs PowerDNS Authoritative with its BIND backend. */
export function startPowerdns(options: PowerdnsOptions): Promise<RunningServer> {
  return startServer(options, powerdnsRecipe(options));
}
