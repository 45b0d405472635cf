import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { requireProgram } from "./programs.js";
import { DEAD_END_HINTS, type RunningServer, type ServerOptions, type ServerPlace, startServer } from "./servers.js";

/** A zone and the servers that Unbound asks for it. */
export interface StubZone {
  readonly name: string;
  readonly servers: readonly { readonly address: string; readonly port: number }[];
}

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
  const unbound = await startServer(options, {
    program: "unbound",
    args: ({ folder }) => ["-d", "-c", join(folder, "unbound.conf")],
    files: (place) => ({ "root.hints": DEAD_END_HINTS, "unbound.conf": configuration(options, place) }),
  });
  return {
    ...unbound,
    async control(...args) {
      const program = requireProgram("unbound-control");
      const { stdout } = await promisify(execFile)(program, ["-c", join(unbound.folder, "unbound.conf"), ...args]);
      return stdout;
    },
  };
}

function configuration(options: UnboundOptions, place: ServerPlace): string {
  const { stubZones = [], forwardZones = [], serverLines = [] } = options;
  const clauses = (kind: "stub" | "forward", zones: readonly StubZone[]) =>
    zones.map(({ name, servers }) => {
      const addresses = servers.map(({ address, port }) => `  ${kind}-addr: ${address}@${port}\n`);
      return `${kind}-zone:\n  name: "${name}"\n${addresses.join("")}`;
    });
  return `server:
  interface: ${place.address}@${place.port}
  port: ${place.port}
  access-control: 127.0.0.0/8 allow
  access-control: ::1 allow
  directory: "${place.folder}"
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
${[...stubZones, ...forwardZones].map(({ name }) => `  local-zone: "${name}" transparent\n`).join("")}  target-fetch-policy: "0 0 0 0 0"
${serverLines.map((line) => `  ${line}\n`).join("")}
remote-control:
  control-enable: yes
  control-interface: "${join(place.folder, "control.sock")}"
  control-use-cert: no
${[...clauses("stub", stubZones), ...clauses("forward", forwardZones)].join("")}`;
}
