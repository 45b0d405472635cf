import { nsdRecipe, type ServedZones } from "./recipes.js";
import { type RunningServer, type ServerOptions, startServer } from "./servers.js";

export interface NsdOptions extends ServerOptions, ServedZones {
  /** Leave authority and additional sections out where they are not needed. Default false. */
  readonly minimalResponses?: boolean;
  /** Lines for the `server:` clause. */
  readonly serverLines?: readonly string[];
}

/** Runs NSD as an authoritative server, without rate limits and without a database. */
export function startNsd(options: NsdOptions): Promise<RunningServer> {
  return startServer(options, nsdRecipe(options));
}
