/** HAProxy: on two machines that share an address by keepalived, on the client's own node, and fed by livezone. */
import { connect } from "node:net";
import path from "node:path";
import { startParent, startResolver } from "../corporate.mjs";
import { until } from "../service.mjs";
import { ADDRESSES, NAME, PORT, RESOLVER, TARGETS, VIRTUAL } from "../topology.mjs";
import { startLivezones } from "./livezone.mjs";

const servers = (options) => TARGETS.map((id) => `    server ${id} ${ADDRESSES[id]}:${PORT} ${options}\n`).join("");

/** kubernetes/kubeadm, docs/ha-considerations.md. */
const KUBEADM = (backendOptions, serverOptions) => `global
    log /dev/log local0
    log /dev/log local1 notice
defaults
    mode http
    log global
    option httplog
    option dontlognull
    option http-server-close
    option forwardfor except 127.0.0.0/8
    option redispatch
    retries 1
    timeout http-request 10s
    timeout queue 20s
    timeout connect 5s
    timeout client 35s
    timeout server 35s
    timeout http-keep-alive 10s
    timeout check 10s
frontend apiserver
    bind *:${PORT}
    mode tcp
    option tcplog
    default_backend apiserverbackend
backend apiserverbackend
    option httpchk
    http-check connect ssl
    http-check send meth GET uri ${backendOptions.path}
    http-check expect status 200
    mode tcp
    balance roundrobin
${servers(serverOptions)}`;

/** kubernetes-sigs/kubespray, roles/kubernetes/node/templates/loadbalancer/haproxy.cfg.j2. */
const KUBESPRAY = `global
    maxconn 4000
    log 127.0.0.1 local0
defaults
    mode http
    log global
    option httplog
    option dontlognull
    option http-server-close
    option redispatch
    retries 5
    timeout http-request 5m
    timeout queue 5m
    timeout connect 30s
    timeout client 15m
    timeout server 15m
    timeout http-keep-alive 30s
    timeout check 30s
    maxconn 4000
frontend kube_api_frontend
    bind 127.0.0.1:${PORT}
    mode tcp
    option tcplog
    default_backend kube_api_backend
backend kube_api_backend
    mode tcp
    balance leastconn
    default-server inter 15s downinter 15s rise 2 fall 2 slowstart 60s maxconn 1000 maxqueue 256 weight 100
    option httpchk GET /healthz
    http-check expect status 200
${servers("check check-ssl verify none")}`;

const FAST_CHECK =
  "check check-ssl verify required ca-file CA verifyhost NAME inter 500ms fastinter 100ms fall 2 rise 2 " +
  "observe layer4 error-limit 1 on-error mark-down on-marked-down shutdown-sessions";
const fastCheck = (place) => FAST_CHECK.replace("CA", place.ca).replace("NAME", NAME);

/** As fast as a probe every 500 ms of `/readyz`, with what clients see taken into account, can make it. */
const FAST_NODE = (place) => `defaults
    mode tcp
    option redispatch
    retries 3
    timeout connect 500ms
    timeout client 1h
    timeout server 1h
    timeout check 1s
frontend apiservers
    bind 127.0.0.1:${PORT}
    default_backend apiservers
backend apiservers
    balance roundrobin
    option httpchk GET /readyz
    http-check expect status 200
${servers(fastCheck(place))}`;

/** docs/neighbours.md. */
const FED = `resolvers livezone
    nameserver ns1 ${ADDRESSES.ns1}:53
    nameserver ns2 ${ADDRESSES.ns2}:53
    accepted_payload_size 1232
    timeout resolve 1s
    timeout retry 500ms
    hold valid 1s
    hold obsolete 0s
    hold nx 10m
    hold refused 10m
    hold timeout 10m
    hold other 10m
defaults
    mode tcp
    timeout connect 2s
    timeout client 1h
    timeout server 1h
frontend apiservers
    bind 127.0.0.1:${PORT}
    default_backend apiservers
backend apiservers
    balance roundrobin
    option redispatch
    retries 2
    server-template cp 8 _https._tcp.${NAME} resolvers livezone resolve-prefer ipv4 init-addr none check
`;

/** Starts HAProxy, with a socket for the lab to look at. */
async function startHaproxy(place, host, text) {
  const socket = path.join(place.folder, `${host}-haproxy.sock`);
  const stats = place.write(`${host}-stats.cfg`, `global\n    stats socket ${socket} level admin\n`);
  const conf = place.write(`${host}-haproxy.cfg`, text);
  const service = place.service(host, "haproxy", "haproxy", ["-db", "-f", stats, "-f", conf], {
    ready: async () => (await believed(socket)) !== undefined,
  });
  await service.start();
  return { service, believed: () => believed(socket) };
}

/** The targets that a HAProxy takes for up: their addresses; undefined where it does not answer. */
function believed(socket) {
  return new Promise((resolve) => {
    const connection = connect(socket, () => connection.end("show servers state\n"));
    let text = "";
    connection.on("data", (data) => {
      text += data;
    });
    connection.on("error", () => resolve(undefined));
    connection.on("close", () => resolve(text === "" ? undefined : upServers(text)));
  });
}

/** @param {string} text what `show servers state` prints. Columns: 5th the address, 6th the state (2 = up), 7th why not */
export function upServers(text) {
  const rows = text.split("\n").filter((line) => /^\d+ \S+ \d+ \S+ \d+\./.test(line));
  return rows
    .map((row) => row.split(" "))
    .filter((row) => row[5] === "2" && row[6] === "0")
    .map((row) => row[4])
    .sort();
}

const keepalived = ({ host, check, interval, fall, advertise }) => `global_defs {
  router_id LVS_DEVEL
}
vrrp_script check_apiserver {
  script "${check}"
  interval ${interval}
  weight -2
  fall ${fall}
  rise 2
}
vrrp_instance VI_1 {
  state ${host === "lb1" ? "MASTER" : "BACKUP"}
  interface eth0
  virtual_router_id 51
  priority ${host === "lb1" ? 101 : 100}
${advertise}  authentication {
    auth_type PASS
    auth_pass 42
  }
  virtual_ipaddress {
    ${VIRTUAL}
  }
  track_script {
    check_apiserver
  }
}
`;

const CHECK = `#!/bin/sh
errorExit() {
  echo "*** $*" 1>&2
  exit 1
}
curl -sfk --max-time 2 https://localhost:${PORT}/healthz -o /dev/null || errorExit "Error GET https://localhost:${PORT}/healthz"
`;

const VIRTUAL_WAYS = {
  documented: {
    haproxy: () => KUBEADM({ path: "/healthz" }, "check verify none"),
    keepalived: { interval: 3, fall: 10, advertise: "" },
  },
  fast: {
    haproxy: (place) =>
      KUBEADM({ path: "/readyz" }, fastCheck(place))
        .replace("timeout connect 5s", "timeout connect 500ms")
        .replace("timeout check 10s", "timeout check 1s"),
    keepalived: { interval: 1, fall: 1, advertise: "  advert_int 0.3\n  vrrp_garp_master_delay 1\n" },
  },
};

const onVirtualAddress = (settings) => async (place) => {
  const chosen = VIRTUAL_WAYS[settings];
  const check = place.write("check_apiserver.sh", CHECK, 0o755);
  const text = chosen.haproxy(place);
  const conf = (host) => keepalived({ host, check, ...chosen.keepalived });
  const proxies = [];
  const guards = [];
  for (const host of ["lb1", "lb2"]) {
    proxies.push(await startHaproxy(place, host, text));
    const file = place.write(`${host}-keepalived.conf`, conf(host));
    const pids = ["-p", "-r", "-c"].flatMap((flag) => [flag, path.join(place.folder, `${host}-keepalived${flag}.pid`)]);
    guards.push(await place.service(host, "keepalived", "keepalived", ["-n", "-l", "-P", "-f", file, ...pids]).start());
  }
  await until("the first load balancer has the virtual address", () =>
    /Entering MASTER STATE/.test(guards[0].output()),
  );
  const [parent, resolver] = [await startParent(place, `api.k8s 300 A ${VIRTUAL}\n`), await startResolver(place)];
  return {
    services: [...proxies.map(({ service }) => service), ...guards],
    first: proxies[0].service,
    probers: ["lb1"],
    resolver,
    believed: proxies[0].believed,
    configuration: [text, conf("lb1"), CHECK],
    parts: [...guards, ...proxies.map(({ service }) => service), resolver, parent],
    client: { nameservers: [RESOLVER] },
  };
};

const onNode = (text) => async (place) => {
  const configuration = typeof text === "string" ? text : text(place);
  const { service, believed } = await startHaproxy(place, "client", configuration);
  return {
    services: [service],
    first: service,
    probers: ["client"],
    isOnClient: true,
    believed,
    configuration: [configuration],
    parts: [service],
    client: { hosts: `127.0.0.1 ${NAME}` },
  };
};

async function fedByLivezone(place) {
  const livezones = await startLivezones(place);
  const proxy = await onNode(FED)(place);
  return {
    ...livezones,
    services: [...livezones.services, ...proxy.services],
    parts: [...proxy.parts, ...livezones.services],
    configuration: [...livezones.configuration, ...proxy.configuration],
    client: proxy.client,
  };
}

export const HAPROXY_WAYS = {
  "haproxy-keepalived": {
    title: "HAProxy + keepalived",
    settings: "kubeadm's document",
    needs: ["haproxy", "keepalived"],
    start: onVirtualAddress("documented"),
  },
  "haproxy-keepalived-fast": {
    title: "HAProxy + keepalived",
    settings: "checks every 500 ms, observe layer4, advert_int 0.3",
    needs: ["haproxy", "keepalived"],
    start: onVirtualAddress("fast"),
  },
  "haproxy-node": {
    title: "HAProxy on the node",
    settings: "kubespray's",
    needs: ["haproxy"],
    start: onNode(KUBESPRAY),
  },
  "haproxy-node-fast": {
    title: "HAProxy on the node",
    settings: "checks every 500 ms, observe layer4",
    needs: ["haproxy"],
    start: onNode(FAST_NODE),
  },
  "haproxy-livezone": {
    title: "livezone feeds HAProxy on the node",
    isOurs: true,
    needs: ["haproxy"],
    start: fedByLivezone,
  },
};
