import { UserError } from "../lib/errors.js";
import type { ExportedEndpoint, ExportedServer } from "./servers.js";

/** What a format may be told besides the endpoints. */
export interface FormatSettings {
  /** Virtual address of IPVS, without its port. */
  readonly vip?: string;
}

/** One way to write endpoints down. */
export interface ExportFormat {
  readonly about: string;
  /** Whether the text is a part of a file that has other content: it then stands between two comments. */
  readonly isBlock: boolean;
  /** @throws UserError if the settings do not fit */
  write(endpoints: readonly ExportedEndpoint[], settings: FormatSettings): string;
}

/** IPv6 in brackets, as all of these programs want an address with a port. */
function withPort(address: string, port: number): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

/** A name that HAProxy and nginx take: `api_k8s_example_com`. */
const identifier = (name: string) => name.replace(/[^A-Za-z0-9-]/g, "_");

const answeredOf = ({ servers }: ExportedEndpoint) => servers.filter(({ isAnswered }) => isAnswered);

const HEAD = '# Written by "livezone export": a change here is lost.\n';

/** One backend for each endpoint. HAProxy takes one without servers: it answers that none is there. */
function haproxy(endpoints: readonly ExportedEndpoint[]): string {
  const backends = endpoints.map((endpoint) => {
    const servers = answeredOf(endpoint).map(
      ({ name, address }) => `  server ${identifier(name)} ${withPort(address, endpoint.port)} check\n`,
    );
    return `backend ${identifier(endpoint.name)}\n  mode tcp\n  balance roundrobin\n${servers.join("")}`;
  });
  return HEAD + backends.join("");
}

/** One upstream for each endpoint, for the context `stream`. nginx refuses one without servers, so there is one that is down. */
function nginx(endpoints: readonly ExportedEndpoint[]): string {
  const upstreams = endpoints.map((endpoint) => {
    const servers = answeredOf(endpoint).map(({ address }) => `  server ${withPort(address, endpoint.port)};\n`);
    const lines = servers.length > 0 ? servers : [`  server 127.0.0.1:${endpoint.port} down;\n`];
    return `upstream ${identifier(endpoint.name)} {\n${lines.join("")}}\n`;
  });
  return HEAD + upstreams.join("");
}

/**
 * A shell script with the commands for one virtual service, which can be run again and again. A server that is not answered keeps
 * its entry with weight 0: it gets no new connection, and keeps those that it has. One that the configuration no longer has is deleted.
 */
function ipvs(endpoints: readonly ExportedEndpoint[], { vip }: FormatSettings): string {
  const [endpoint, second] = endpoints;
  if (endpoint === undefined || second !== undefined || vip === undefined) {
    throw new UserError("ipvs is for one endpoint and its --vip ADDRESS: name both", "EXPORT_IPVS");
  }
  const family = vip.includes(":");
  const servers = endpoint.servers.filter(({ address }) => address.includes(":") === family);
  const real = ({ address }: ExportedServer) => withPort(address, endpoint.port);
  const set = servers.map((server) => {
    const rule = `$service -r ${real(server)} -m -w ${server.isAnswered ? 1 : 0}`;
    return `ipvsadm -a ${rule} 2>/dev/null || ipvsadm -e ${rule}\n`;
  });
  return `#!/bin/sh
${HEAD}service='-t ${withPort(vip, endpoint.port)}'
ipvsadm -A $service -s rr 2>/dev/null || ipvsadm -E $service -s rr
${set.join("")}ipvsadm -Sn | sed -n "s/^-a $service -r \\([^ ]*\\) .*/\\1/p" | while read -r server; do
  case " ${servers.map(real).join(" ")} " in
    *" $server "*) ;;
    *) ipvsadm -d $service -r "$server" ;;
  esac
done
`;
}

/** Lines of hosts(5). */
function hosts(endpoints: readonly ExportedEndpoint[]): string {
  return endpoints
    .flatMap((endpoint) => answeredOf(endpoint).map(({ address }) => `${address}\t${endpoint.name}\n`))
    .join("");
}

/** Every format, by the word on the command line. */
export const EXPORT_FORMATS: Readonly<Record<string, ExportFormat>> = {
  haproxy: { about: "backends of HAProxy, one for each endpoint", isBlock: false, write: haproxy },
  nginx: { about: "upstreams of nginx, for its context stream", isBlock: false, write: nginx },
  ipvs: { about: "a shell script that sets up one virtual service with ipvsadm", isBlock: false, write: ipvs },
  hosts: { about: "lines of a hosts file; other lines of the file stay as they are", isBlock: true, write: hosts },
};
