/** livezone as its documentation recommends it: two servers of one zone, a probe of `/readyz` with the cluster's authority. */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createAdminClient } from "../../dist/client/admin.js";
import { DELEGATION, namedOptions, startParent, startResolver } from "../corporate.mjs";
import { until } from "../service.mjs";
import { ADDRESSES, NAME, PORT, RESOLVER, TARGETS, ZONE } from "../topology.mjs";

const SERVERS = ["ns1", "ns2"];
const MAIN = path.resolve(import.meta.dirname, "../../dist/main.js");

/**
 * @typedef {object} LivezoneSettings
 * @property {string} [endpoint] further lines of the endpoint, such as `ttl: 1`
 * @property {string} [probe] further lines of its probe
 * @property {(host: string) => string} [zone] further lines of the zone
 * @property {boolean} [areSiblings]
 */

/** Starts both servers. Returns what every way with livezone has. @param {LivezoneSettings} settings */
export async function startLivezones(place, settings = {}) {
  const services = await Promise.all(SERVERS.map((host) => startServer(place, host, settings)));
  const admins = SERVERS.map((host) => createAdminClient({ kind: "socket", path: adminSocket(place, host) }));
  const zoneFile = zoneText(place, "ns1", settings);
  return {
    services,
    first: services[0],
    probers: SERVERS,
    watched: SERVERS.map((host) => ADDRESSES[host]),
    configuration: [mainText("ns1", settings), zoneFile],
    drain: (id) => drain(settings.areSiblings ? admins.slice(0, 1) : admins, id),
    undrain: (id) => override(settings.areSiblings ? admins.slice(0, 1) : admins, id, "undrain"),
  };
}

const adminSocket = (place, host) => path.join(place.folder, host, "admin.sock");

async function startServer(place, host, settings) {
  const folder = place.emptyFolder(host);
  mkdirSync(path.join(folder, "zones"));
  writeFileSync(path.join(folder, "livezone.yaml"), mainText(host, settings));
  writeFileSync(path.join(folder, "zones", "k8s.yaml"), zoneText(place, host, settings));
  if (settings.areSiblings) writeFileSync(path.join(folder, "siblings.key"), `${place.secret}\n`, { mode: 0o600 });
  const args = [MAIN, "serve", "--config", path.join(folder, "livezone.yaml")];
  return place.service(host, "livezone", process.execPath, args, { ready: /"msg":"ready"/ }).start();
}

function mainText(host, { areSiblings = false }) {
  const other = host === "ns1" ? "ns2" : "ns1";
  const siblings = `siblings:
  name: ${host}
  listen: "${ADDRESSES[host]}:9854"
  peers: { ${other}: "${ADDRESSES[other]}:9854" }
  secretFile: siblings.key
`;
  return `listen: "${ADDRESSES[host]}:53"
stateDir: state
admin: { socket: admin.sock }
zones: [zones/*.yaml]
${areSiblings ? siblings : ""}`;
}

function zoneText(place, host, { endpoint = "", probe = "", zone = () => "" }) {
  return `zone: ${ZONE}
nameservers: { ns1: ${ADDRESSES.ns1}, ns2: ${ADDRESSES.ns2} }
${zone(host)}endpoints:
  api:
    port: ${PORT}
${endpoint}    targets: { ${TARGETS.map((id) => `${id}: ${ADDRESSES[id]}`).join(", ")} }
    probe:
      ca: ${place.ca}
${probe}`;
}

async function override(admins, id, what) {
  return Promise.all(
    admins.map(async (admin) => {
      const reply = await admin.ask("POST", `/api/v1/endpoints/${NAME}/targets/${id}/${what}`, {});
      if (reply.status >= 300) throw new Error(`${what} ${id}: ${reply.status} ${JSON.stringify(reply.body)}`);
      return reply.body;
    }),
  );
}

/** `livezone drain --wait`: resolves when the target can be stopped. */
async function drain(admins, id) {
  await override(admins, id, "drain");
  await until(`${id} can be stopped`, async () => {
    const looks = await Promise.all(
      admins.map(async (admin) => (await admin.ask("GET", `/api/v1/endpoints/${NAME}/targets/${id}`)).body),
    );
    return looks.every(({ safeAtMs, nowMs }) => safeAtMs !== undefined && safeAtMs <= nowMs);
  });
}

/** Through the site's Unbound, by a delegation with glue. */
const throughUnbound = (settings) => async (place) => {
  const parent = await startParent(place, DELEGATION);
  const [livezones, resolver] = [await startLivezones(place, settings), await startResolver(place)];
  return {
    ...livezones,
    resolver,
    parts: [...livezones.services, resolver, parent],
    client: { nameservers: [RESOLVER] },
  };
};

async function direct(place) {
  const livezones = await startLivezones(place);
  return { ...livezones, parts: livezones.services, client: { nameservers: SERVERS.map((host) => ADDRESSES[host]) } };
}

// Unbound asks for the zone from the host's first address, whatever `outgoing-interface` says.
const transferTo = (host) => `soa: { serialModulo: "${host === "ns1" ? 0 : 1}/2" }
transfer: { to: [${RESOLVER}], allow: [{ from: ${ADDRESSES.corp} }] }
`;

/** The resolver has the zone as a secondary: Unbound. */
async function secondaryUnbound(place) {
  const authZone = `auth-zone:
  name: ${ZONE}
  primary: ${ADDRESSES.ns1}
  primary: ${ADDRESSES.ns2}
  allow-notify: ${ADDRESSES.ns1}
  allow-notify: ${ADDRESSES.ns2}
  for-downstream: yes
  for-upstream: yes
  fallback-enabled: no
`;
  return secondary(place, authZone, (running) => startResolver(running, authZone));
}

/** The resolver has the zone as a secondary: BIND. */
async function secondaryBind(place) {
  const clause = `zone "${ZONE}" { type secondary; primaries { ${ADDRESSES.ns1}; ${ADDRESSES.ns2}; }; file "k8s"; min-refresh-time 60; };\n`;
  return secondary(place, clause, (running) => {
    const folder = running.emptyFolder("bind");
    const conf = running.write("bind/named.conf", namedOptions(folder, RESOLVER, "yes") + clause);
    return running.service("corp", "bind", "named", ["-g", "-n", "1", "-c", conf], { ready: / running$/m }).start();
  });
}

async function secondary(place, clause, startIt) {
  const livezones = await startLivezones(place, { zone: transferTo });
  const resolver = await startIt(place);
  return {
    ...livezones,
    resolver,
    watched: [...livezones.watched, RESOLVER],
    configuration: [...livezones.configuration, clause],
    parts: [...livezones.services, resolver],
    client: { nameservers: [RESOLVER] },
  };
}

const FAST = { endpoint: "    ttl: 1\n", probe: "      interval: 500ms\n      timeout: 1s\n      recheck: 200ms\n" };

export const LIVEZONE_WAYS = {
  "livezone-unbound": { title: "livezone, through Unbound", isOurs: true, isDns: true, start: throughUnbound() },
  "livezone-unbound-fast": {
    title: "livezone, through Unbound",
    settings: "interval 500 ms, timeout 1 s, recheck 200 ms, TTL 1",
    isOurs: true,
    isDns: true,
    start: throughUnbound(FAST),
  },
  "livezone-siblings": {
    title: "livezone, siblings, through Unbound",
    isOurs: true,
    isDns: true,
    start: throughUnbound({ areSiblings: true }),
  },
  "livezone-direct": { title: "livezone, asked directly", isOurs: true, isDns: true, start: direct },
  "livezone-secondary-unbound": {
    title: "livezone, Unbound as secondary",
    isOurs: true,
    isDns: true,
    start: secondaryUnbound,
  },
  "livezone-secondary-bind": { title: "livezone, BIND as secondary", isOurs: true, isDns: true, start: secondaryBind },
};
