/** The company's own DNS: BIND with the parent zone, and Unbound as the resolver that the site's clients ask. */
import { ADDRESSES, PARENT, RESOLVER } from "./topology.mjs";

/** What BIND is told, but for its zones. */
export const namedOptions = (folder, address, recursion) => `options {
  directory "${folder}";
  pid-file none;
  session-keyfile none;
  listen-on { ${address}; };
  listen-on-v6 { none; };
  recursion ${recursion};
  dnssec-validation no;
  notify no;
};
controls { };
`;

/** Starts BIND with the parent zone. @param {string} records lines of the zone, relative to it */
export async function startParent(place, records) {
  const folder = place.emptyFolder("parent");
  place.write(
    "parent/zone",
    `$TTL 300\n@ SOA ns hostmaster 1 7200 900 1209600 5\n@ NS ns\nns A ${ADDRESSES.corp}\n${records}`,
  );
  const zone = `zone "${PARENT}" { type primary; file "zone"; };\n`;
  const conf = place.write("parent/named.conf", namedOptions(folder, ADDRESSES.corp, "no") + zone);
  return place.service("corp", "parent", "named", ["-g", "-n", "1", "-c", conf], { ready: / running$/m }).start();
}

/** Starts the site's Unbound. @param {string} lines clauses besides, e.g. an `auth-zone` */
export async function startResolver(place, lines = "") {
  const text = `server:
  directory: "${place.emptyFolder("unbound")}"
  username: ""
  chroot: ""
  pidfile: ""
  use-syslog: no
  interface: ${RESOLVER}
  outgoing-interface: ${RESOLVER}
  access-control: 10.0.0.0/8 allow
  module-config: "iterator"
  num-threads: 1
  trust-anchor-file: ""
stub-zone:
  name: ${PARENT}
  stub-addr: ${ADDRESSES.corp}
${lines}`;
  const conf = place.write("unbound/unbound.conf", text);
  return place.service("corp", "unbound", "unbound", ["-d", "-c", conf], { ready: /start of service/ }).start();
}

/** Lines of the parent zone that delegate to the two name servers, with glue. */
export const DELEGATION = `k8s NS ns1.k8s\nk8s NS ns2.k8s\nns1.k8s A ${ADDRESSES.ns1}\nns2.k8s A ${ADDRESSES.ns2}\n`;
