import { join } from "node:path";
import { type RunningServer, type ServerOptions, startServer } from "../support/servers.js";

/** Lines for its configuration, e.g. `server=/k8s.example.com/192.0.2.53`. */
interface DnsmasqOptions extends ServerOptions {
  readonly lines: readonly string[];
}

/** Runs dnsmasq as a resolver that knows only the servers it is given. */
export function startDnsmasq(options: DnsmasqOptions): Promise<RunningServer> {
  return startServer(options, {
    program: "dnsmasq",
    args: ({ folder }) => ["--keep-in-foreground", `--conf-file=${join(folder, "dnsmasq.conf")}`],
    files: ({ address, port }) => ({
      "dnsmasq.conf": `${["no-resolv", "no-hosts", "bind-interfaces", "log-facility=-", "user=", "group=", "pid-file=", `port=${port}`, `listen-address=${address}`, ...options.lines].join("\n")}\n`,
    }),
  });
}
