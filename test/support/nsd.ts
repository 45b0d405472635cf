import { join } from "node:path";
import type { ZoneTexts } from "./bind.js";
import { type RunningServer, type ServerOptions, startServer } from "./servers.js";

export interface NsdOptions extends ServerOptions {
  readonly zones: ZoneTexts;
  /** Leave authority and additional sections out where they are not needed. Default false. */
  readonly minimalResponses?: boolean;
  /** Lines for the `server:` clause. */
  readonly serverLines?: readonly string[];
}

/** Runs NSD as an authoritative server, without rate limits and without a database. */
export function startNsd(options: NsdOptions): Promise<RunningServer> {
  const zones = Object.entries(options.zones);
  return startServer(options, {
    program: "nsd",
    args: ({ folder }) => ["-d", "-c", join(folder, "nsd.conf")],
    files: ({ address, port, folder }) => ({
      ...Object.fromEntries(zones.map(([, text], i) => [`zone-${i}`, text])),
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
${(options.serverLines ?? []).map((line) => `  ${line}\n`).join("")}
remote-control:
  control-enable: no
${zones.map(([name], i) => `zone:\n  name: "${name}"\n  zonefile: "zone-${i}"\n`).join("")}`,
    }),
  });
}
