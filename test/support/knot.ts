import { join } from "node:path";
import type { ZoneTexts } from "./bind.js";
import { type RunningServer, type ServerOptions, startServer } from "./servers.js";

export interface KnotOptions extends ServerOptions {
  readonly zones: ZoneTexts;
  /** Lines for the `server:` section. */
  readonly serverLines?: readonly string[];
}

/** Runs Knot DNS as an authoritative server that never writes to its zones. */
export function startKnot(options: KnotOptions): Promise<RunningServer> {
  const zones = Object.entries(options.zones);
  return startServer(options, {
    program: "knotd",
    args: ({ folder }) => ["-c", join(folder, "knot.conf")],
    files: ({ address, port, folder }) => ({
      ...Object.fromEntries(zones.map(([, text], i) => [`zone-${i}`, text])),
      "knot.conf": `server:
  rundir: "${folder}"
  listen: ${address}@${port}
  udp-workers: 1
  tcp-workers: 1
  background-workers: 1
${(options.serverLines ?? []).map((line) => `  ${line}\n`).join("")}
log:
  - target: stderr
    any: info
database:
  storage: "${folder}"
template:
  - id: default
    storage: "${folder}"
    zonefile-sync: -1
    zonefile-load: whole
    journal-content: none
zone:
${zones.map(([name], i) => `  - domain: ${name}\n    file: zone-${i}\n`).join("")}`,
    }),
  });
}
