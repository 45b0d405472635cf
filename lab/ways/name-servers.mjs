/** Other name servers that check what they answer: gdnsd and PowerDNS, two of each, through the site's Unbound. */
import path from "node:path";
import { DELEGATION, startParent, startResolver } from "../corporate.mjs";
import { ADDRESSES, NAME, PORT, RESOLVER, TARGETS, ZONE } from "../topology.mjs";

const SERVERS = ["ns1", "ns2"];
const TTL = 5;

const zoneText = (endpoint) => `$TTL 300
@ SOA ns1 hostmaster 1 7200 900 1209600 5
@ NS ns1
@ NS ns2
ns1 A ${ADDRESSES.ns1}
ns2 A ${ADDRESSES.ns2}
${endpoint}
`;

/** @param {(place, host: string) => Promise<{ service, configuration: string[] }>} startServer */
const throughUnbound = (startServer) => async (place) => {
  const parent = await startParent(place, DELEGATION);
  const started = [];
  for (const host of SERVERS) started.push(await startServer(place, host));
  const services = started.map(({ service }) => service);
  const resolver = await startResolver(place);
  return {
    services,
    first: services[0],
    probers: SERVERS,
    resolver,
    watched: SERVERS.map((host) => ADDRESSES[host]),
    configuration: started[0].configuration,
    parts: [...services, resolver, parent],
    client: { nameservers: [RESOLVER] },
  };
};

/** gdnsd(8), gdnsd-plugin-multifo(8), gdnsd-plugin-tcp_connect(8): it has no check over TLS. */
const gdnsd = (check) => async (place, host) => {
  const folder = place.emptyFolder(`${host}-gdnsd`);
  const text = (own) => `options => {
  listen => [ ${ADDRESSES[host]} ]
${own}}
service_types => {
  apiserver => { plugin => tcp_connect, port => ${PORT}${check} }
}
plugins => {
  multifo => {
    api => {
      service_types => apiserver
${TARGETS.map((id) => `      ${id} => ${ADDRESSES[id]}\n`).join("")}    }
  }
}
`;
  const zone = zoneText(`api ${TTL} DYNA multifo!api`);
  const own = ["run_dir", "state_dir"].map((option) => `  ${option} => ${path.join(folder, option)}\n`).join("");
  for (const option of ["run_dir", "state_dir", "geoip"]) place.emptyFolder(`${host}-gdnsd/${option}`);
  place.write(`${host}-gdnsd/config`, text(own));
  place.write(`${host}-gdnsd/zones/${ZONE}`, zone);
  const service = place.service(host, "gdnsd", "gdnsd", ["-c", folder, "start"], { ready: /DNS listeners started/ });
  return { service: await service.start(), configuration: [text(""), zone] };
};

/** PowerDNS, "LUA records": `ifurlup` checks only while the name is asked for. */
const powerdns = (options, serverLines) => async (place, host) => {
  const folder = place.emptyFolder(`${host}-pdns`);
  const addresses = TARGETS.map((id) => `'${ADDRESSES[id]}'`).join(", ");
  const check = `ifurlup('https://${NAME}:${PORT}/readyz', {${addresses}}, {selector='all'${options}})`;
  const zone = zoneText(`api ${TTL} LUA A "${check}"`);
  const own = `local-address=${ADDRESSES[host]}\nlaunch=bind\nbind-config=${folder}/named.conf\nenable-lua-records=yes\n${serverLines}`;
  place.write(`${host}-pdns/zone`, zone);
  const named = `zone "${ZONE}" { type master; file "${folder}/zone"; };\n`;
  place.write(`${host}-pdns/named.conf`, named);
  place.write(`${host}-pdns/pdns.conf`, `${own}socket-dir=${folder}\nwebserver=no\n`);
  const args = [`--config-dir=${folder}`, "--daemon=no", "--guardian=no", "--disable-syslog=yes"];
  // Its checks resolve the name of the URL by themselves, to the addresses that are given.
  const service = place.service(host, "pdns", "pdns_server", args, { ready: /Done launching threads/ });
  return { service: await service.start(), configuration: [own, named, zone] };
};

const GDNSD_FAST = ", interval => 2, timeout => 1, up_thresh => 1, ok_thresh => 1, down_thresh => 1";

export const NAME_SERVER_WAYS = {
  gdnsd: {
    title: "gdnsd multifo",
    settings: "its defaults",
    isDns: true,
    needs: ["gdnsd"],
    start: throughUnbound(gdnsd("")),
  },
  "gdnsd-fast": {
    title: "gdnsd multifo",
    settings: "interval 2, timeout 1, thresholds 1",
    isDns: true,
    needs: ["gdnsd"],
    start: throughUnbound(gdnsd(GDNSD_FAST)),
  },
  powerdns: {
    title: "PowerDNS ifurlup",
    settings: "its defaults",
    isDns: true,
    needs: ["pdns_server"],
    start: throughUnbound(powerdns("", "")),
  },
  "powerdns-fast": {
    title: "PowerDNS ifurlup",
    settings: "interval 1, timeout 1",
    isDns: true,
    needs: ["pdns_server"],
    start: throughUnbound(powerdns(", timeout=1, interval=1", "lua-health-checks-interval=1\n")),
  },
};
