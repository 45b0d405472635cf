import { knotRecipe, type ServedZones } from "./recipes.js";
import { type RunningServer, type ServerOptions, startServer } from "./servers.js";

export interface KnotOptions extends ServerOptions, ServedZones {
  /** Lines for the `server:` section. */
  readonly serverLines?: readonly string[];
}

/** Runs Knot DNS as an authoritative server that never writes to its zones. */
export function startKnot(options: KnotOptions): Promise<RunningServer> {
  return startServer(options, knotRecipe(options));
}
