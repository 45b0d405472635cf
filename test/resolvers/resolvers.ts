import { join } from "node:path";
import type { ServerPlace, ServerRecipe } from "../support/recipes.js";
import type { ServerOptions } from "../support/servers.js";
import type { SignedRoot } from "./root.js";

/** What a resolver is told of the DNS it lives in. */
export interface Surroundings {
  readonly root: SignedRoot;
  readonly zone: string;
  /** The zone's servers, on port 53. */
  readonly servers: readonly string[];
}

/** One resolver with one set of settings. */
export interface ResolverCase {
  readonly name: string;
  readonly settings: "default" | "strict";
  /** What is strict about it, for `docs/resolvers.md`; or how it comes to ask at all. */
  readonly remark: string;
  /** The address it asks from, so that its queries can be told from others'. */
  readonly source: string;
  /** Where it listens. */
  readonly place: ServerOptions;
  recipe(surroundings: Surroundings, source: string): ServerRecipe;
  /** Random letter case in questions (draft-vixie-dnsext-dns0x20) is switched on. */
  readonly mixesCase: boolean;
  /** Asks with DNS cookies. */
  readonly sendsCookies: boolean;
  /** Validates DNSSEC, from a trust anchor for the root down to the zone's delegation, which is insecure. */
  readonly validates: boolean;
}

const hints = ({ root }: Surroundings): string => `. 3600000 NS a.root.\na.root. 3600000 A ${root.address}\n`;

function unbound(strict: boolean): ResolverCase["recipe"] {
  return (around, source) => ({
    program: "unbound",
    args: ({ folder }) => ["-d", "-c", join(folder, "unbound.conf")],
    files: ({ address, port, folder }: ServerPlace) => ({
      "root.hints": hints(around),
      "unbound.conf": `server:
  interface: ${address}@${port}
  outgoing-interface: ${source}
  access-control: 127.0.0.0/8 allow
  directory: "${folder}"
  chroot: ""
  username: ""
  pidfile: ""
  use-syslog: no
  logfile: ""
  num-threads: 1
  root-hints: "root.hints"
  do-not-query-localhost: no
  do-ip6: no
  trust-anchor: ". IN DS ${around.root.ds}"
${strict ? "  qname-minimisation-strict: yes\n  use-caps-for-id: yes\n  harden-referral-path: yes\n  harden-below-nxdomain: yes\n  private-address: 192.0.2.0/24\n" : ""}${strict ? `  private-domain: "${around.zone}"\n` : ""}
remote-control:
  control-enable: no
`,
    }),
  });
}

function bind(strict: boolean): ResolverCase["recipe"] {
  return (around, source) => ({
    program: "named",
    args: ({ folder }) => ["-g", "-n", "1", "-c", join(folder, "named.conf")],
    files: ({ address, port, folder }) => ({
      "root.hints": hints(around),
      // "port" stays 53, where it asks others; "listen-on" has its own.
      "named.conf": `options {
  directory "${folder}";
  listen-on port ${port} { ${address}; };
  listen-on-v6 { none; };
  query-source address ${source};
  pid-file none;
  session-keyfile none;
  managed-keys-directory "${folder}";
  empty-zones-enable no;
  recursion yes;
  allow-query { any; };
  dnssec-validation yes;
${strict ? "  qname-minimization strict;\n  require-server-cookie yes;\n" : ""}};
trust-anchors { . static-key ${around.root.dnskey.replace(/(\S+)$/, '"$1"')}; };
${strict ? around.servers.map((server) => `server ${server} { send-cookie yes; edns yes; };\n`).join("") : ""}controls { };
zone "." { type hint; file "root.hints"; };
`,
    }),
  });
}

function powerdns(strict: boolean): ResolverCase["recipe"] {
  return (around, source) => ({
    program: "pdns_recursor",
    args: ({ folder }) => [`--config-dir=${folder}`],
    files: ({ address, port, folder }) => ({
      "root.hints": hints(around),
      "anchors.lua": `clearTA()\naddTA(".", "${around.root.ds}")\n`,
      "recursor.conf": `local-address=${address}
local-port=${port}
query-local-address=${source}
socket-dir=${folder}
hint-file=${folder}/root.hints
lua-config-file=${folder}/anchors.lua
dont-query=
daemon=no
threads=1
disable-syslog=yes
max-cache-ttl=86400
security-poll-suffix=
dnssec=${strict ? "validate" : "process"}
${strict ? "nothing-below-nxdomain=yes\nqname-minimization=yes\n" : ""}`,
    }),
  });
}

function knotResolver(strict: boolean): ResolverCase["recipe"] {
  return (around, source) => ({
    program: "kresd",
    args: ({ folder }) => ["-n", "-c", join(folder, "kresd.conf"), folder],
    files: ({ address, port }) => ({
      "kresd.conf": `net.listen('${address}', ${port}, { kind = 'dns' })
net.ipv6 = false
net.outgoing_v4('${source}')
option('ALLOW_LOCAL', true)
modules.unload('ta_update')
modules.unload('ta_signal_query')
modules.unload('priming')
modules.unload('detect_time_skew')
modules.load('hints')
hints.root({ ['a.root.'] = '${around.root.address}' })
trust_anchors.add('. IN DS ${around.root.ds}')
${strict ? "mode('strict')\n" : ""}cache.size = 10 * MB
`,
    }),
  });
}

function dnsmasq(strict: boolean): ResolverCase["recipe"] {
  return (around, source) => ({
    program: "dnsmasq",
    args: ({ folder }) => ["--keep-in-foreground", `--conf-file=${join(folder, "dnsmasq.conf")}`, "--log-facility=-"],
    files: ({ address, port }) => ({
      "dnsmasq.conf": `listen-address=${address}
bind-interfaces
port=${port}
no-resolv
no-hosts
user=root
pid-file=
${around.servers.map((server) => `server=/${around.zone}/${server}@${source}\n`).join("")}${strict ? "all-servers\nstop-dns-rebind\n" : ""}${strict ? `rebind-domain-ok=/${around.zone}/\n` : ""}`,
    }),
  });
}

const at = (last: number): ServerOptions => ({ address: `127.1.1.${last}` });

/** Every resolver that Debian has, as it comes and as strict as it can be. */
export const RESOLVER_CASES: readonly ResolverCase[] = [
  {
    name: "unbound",
    settings: "default",
    remark: "validating; QNAME minimisation as it comes",
    source: "127.1.2.1",
    place: at(1),
    recipe: unbound(false),
    mixesCase: false,
    sendsCookies: false,
    validates: true,
  },
  {
    name: "unbound",
    settings: "strict",
    remark:
      "qname-minimisation-strict, use-caps-for-id, harden-referral-path, harden-below-nxdomain, private-address with private-domain",
    source: "127.1.2.2",
    place: at(2),
    recipe: unbound(true),
    mixesCase: true,
    sendsCookies: false,
    validates: true,
  },
  {
    name: "bind",
    settings: "default",
    remark: "validating; cookies and QNAME minimisation as they come",
    source: "127.1.2.3",
    // BIND listens only on addresses that an interface lists.
    place: { address: "127.0.0.1" },
    recipe: bind(false),
    mixesCase: false,
    sendsCookies: true,
    validates: true,
  },
  {
    name: "bind",
    settings: "strict",
    remark: "qname-minimization strict, edns and send-cookie for the zone's servers",
    source: "127.1.2.4",
    place: { address: "127.0.0.1" },
    recipe: bind(true),
    mixesCase: false,
    sendsCookies: true,
    validates: true,
  },
  {
    name: "pdns-recursor",
    settings: "default",
    remark: "dnssec=process; QNAME minimisation as it comes",
    source: "127.1.2.5",
    place: at(5),
    recipe: powerdns(false),
    mixesCase: false,
    sendsCookies: false,
    validates: false,
  },
  {
    name: "pdns-recursor",
    settings: "strict",
    remark: "dnssec=validate, nothing-below-nxdomain",
    source: "127.1.2.6",
    place: at(6),
    recipe: powerdns(true),
    mixesCase: false,
    sendsCookies: false,
    validates: true,
  },
  {
    name: "knot-resolver",
    settings: "default",
    remark: "validating, QNAME minimisation and random letter case as they come",
    source: "127.1.2.7",
    place: at(7),
    recipe: knotResolver(false),
    mixesCase: true,
    sendsCookies: false,
    validates: true,
  },
  {
    name: "knot-resolver",
    settings: "strict",
    remark: "mode('strict')",
    source: "127.1.2.8",
    place: at(8),
    recipe: knotResolver(true),
    mixesCase: true,
    sendsCookies: false,
    validates: true,
  },
  {
    name: "dnsmasq",
    settings: "default",
    remark: "a forwarder: server=/zone/address",
    source: "127.1.2.9",
    place: at(9),
    recipe: dnsmasq(false),
    mixesCase: false,
    sendsCookies: false,
    validates: false,
  },
  {
    name: "dnsmasq",
    settings: "strict",
    remark: "all-servers, stop-dns-rebind with rebind-domain-ok; it validates only behind a resolver that can",
    source: "127.1.2.10",
    place: at(10),
    recipe: dnsmasq(true),
    mixesCase: false,
    sendsCookies: false,
    validates: false,
  },
];
