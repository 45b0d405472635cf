import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { requireProgram } from "./programs.js";
import { type StubZone, unboundRecipe } from "./recipes.js";
import { type RunningServer, type ServerOptions, startServer } from "./servers.js";

export interface UnboundOptions extends ServerOptions {
  /** Zones whose authoritative servers are asked directly (`stub-zone`); their delegations are followed to port 53. */
  readonly stubZones?: readonly StubZone[];
  /** Zones that are asked of a resolver instead (`forward-zone`): how an Unbound sits behind a corporate BIND. */
  readonly forwardZones?: readonly StubZone[];
  /** Lines for the `server:` clause, e.g. `cache-min-ttl: 30`. */
  readonly serverLines?: readonly string[];
}

export interface RunningUnbound extends RunningServer {
  /** Runs `unbound-control`, e.g. `control("flush_zone", "k8s.example.test")`; resolves with its output. */
  control(...args: readonly string[]): Promise<string>;
}

/**
 * Runs Unbound as a resolver that knows only its stub and forward zones and refuses all other names (its built-in
 * answers for `test.` and the like, RFC 6761, included). DNSSEC validation is off, loopback servers are asked.
 */
export async function startUnbound(options: UnboundOptions): Promise<RunningUnbound> {
  const unbound = await startServer(options, unboundRecipe(options));
  return {
    ...unbound,
    async control(...args) {
      const program = requireProgram("unbound-control");
      const { stdout } = await promisify(execFile)(program, ["-c", join(unbound.folder, "unbound.conf"), ...args]);
      return stdout;
    },
  };
}
