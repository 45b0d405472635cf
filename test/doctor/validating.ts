import { join } from "node:path";
import type { Cleanup } from "../support/cleanup.js";
import type { ServerRecipe } from "../support/recipes.js";
import { type RunningServer, startServer } from "../support/servers.js";
import { type SignedZone, startSignedZone } from "../support/signed-zone.js";

/** A signed zone above the scenarios' zones. */
export interface SignedParent extends SignedZone {
  /** Without the trailing dot. */
  readonly name: string;
}

/** Runs Knot with a signed zone that holds nothing but itself: a public zone that knows nothing of those inside a company. */
export async function startSignedParent(name: string, cleanup: Cleanup): Promise<SignedParent> {
  const records = (address: string): string => `@ SOA ns hostmaster 1 7200 900 1209600 300\n@ NS ns\nns A ${address}\n`;
  return { ...(await startSignedZone(name, records, { cleanup })), name };
}

/** Where a validating resolver is sent for a zone below a signed one. */
interface Forwarding {
  readonly parent: SignedParent;
  readonly zone: string;
  readonly nameserver: { readonly address: string; readonly port: number };
  /** Lines of its configuration. */
  readonly lines: readonly string[];
}

type MakeRecipe = (forwarding: Forwarding) => ServerRecipe;

const unbound: MakeRecipe = ({ parent, zone, nameserver, lines }) => ({
  program: "unbound",
  args: ({ folder }) => ["-d", "-c", join(folder, "unbound.conf")],
  files: ({ address, port, folder }) => ({
    "unbound.conf": `server:
  interface: ${address}@${port}
  access-control: 127.0.0.0/8 allow
  directory: "${folder}"
  chroot: ""
  username: ""
  pidfile: ""
  use-syslog: no
  logfile: ""
  num-threads: 1
  do-not-query-localhost: no
  ede: yes
  trust-anchor: "${parent.name}. DS ${parent.ds}"
${lines.map((line) => `  ${line}\n`).join("")}remote-control:
  control-enable: no
forward-zone:
  name: "${parent.name}"
  forward-addr: ${parent.address}@${parent.port}
forward-zone:
  name: "${zone}"
  forward-addr: ${nameserver.address}@${nameserver.port}
`,
  }),
});

const bind: MakeRecipe = ({ parent, zone, nameserver, lines }) => ({
  program: "named",
  args: ({ folder }) => ["-g", "-n", "1", "-c", join(folder, "named.conf")],
  files: ({ address, port, folder }) => ({
    "named.conf": `options {
  directory "${folder}";
  port ${port};
  listen-on { ${address}; };
  listen-on-v6 { none; };
  pid-file none;
  session-keyfile none;
  managed-keys-directory "${folder}";
  empty-zones-enable no;
  recursion yes;
  allow-query { any; };
  dnssec-validation yes;
${lines.map((line) => `  ${line}\n`).join("")}};
trust-anchors { ${parent.name}. static-key ${parent.dnskey.replace(/(\S+)$/, '"$1"')}; };
controls { };
zone "${parent.name}" { type forward; forward only; forwarders { ${parent.address} port ${parent.port}; }; };
zone "${zone}" { type forward; forward only; forwarders { ${nameserver.address} port ${nameserver.port}; }; };
`,
  }),
});

const recursor: MakeRecipe = ({ parent, zone, nameserver, lines }) => ({
  program: "pdns_recursor",
  args: ({ folder }) => [`--config-dir=${folder}`],
  files: ({ address, port, folder }) => ({
    "anchors.lua": `clearTA()\naddTA("${parent.name}", "${parent.ds}")\n${lines.map((line) => `${line}\n`).join("")}`,
    "recursor.conf": `local-address=${address}
local-port=${port}
socket-dir=${folder}
lua-config-file=${folder}/anchors.lua
forward-zones=${parent.name}=${parent.address}:${parent.port}, ${zone}=${nameserver.address}:${nameserver.port}
dont-query=
daemon=no
threads=1
disable-syslog=yes
security-poll-suffix=
extended-resolution-errors=yes
dnssec=validate
`,
  }),
});

const knotResolver: MakeRecipe = ({ parent, zone, nameserver, lines }) => ({
  program: "kresd",
  args: ({ folder }) => ["-n", "-c", join(folder, "kresd.conf"), folder],
  files: ({ address, port }) => ({
    "kresd.conf": `net.listen('${address}', ${port}, { kind = 'dns' })
net.ipv6 = false
modules.unload('ta_update')
modules.unload('ta_signal_query')
modules.unload('priming')
modules.unload('detect_time_skew')
cache.size = 10 * MB
trust_anchors.remove('.')
trust_anchors.add('${parent.name}. DS ${parent.ds}')
${lines.map((line) => `${line}\n`).join("")}policy.add(policy.suffix(policy.FORWARD('${nameserver.address}@${nameserver.port}'), {todname('${zone}')}))
policy.add(policy.suffix(policy.FORWARD('${parent.address}@${parent.port}'), {todname('${parent.name}')}))
`,
  }),
});

/** Resolvers that validate, by their kind in `scenario.yaml`, with the program that each takes. */
export const VALIDATING = {
  "unbound-validating": { program: "unbound", recipe: unbound },
  "bind-validating": { program: "named", recipe: bind },
  "recursor-validating": { program: "pdns_recursor", recipe: recursor },
  "knot-resolver-validating": { program: "kresd", recipe: knotResolver },
} as const;

export type ValidatingKind = keyof typeof VALIDATING;

/** Runs a resolver that has the parent's key, and is told where the parent and the zone are. */
export function startValidating(
  kind: ValidatingKind,
  forwarding: Forwarding,
  cleanup: Cleanup,
): Promise<RunningServer> {
  return startServer({ cleanup }, VALIDATING[kind].recipe(forwarding));
}
