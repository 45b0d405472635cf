/** Proxies on the client's node, besides HAProxy. */
import { ADDRESSES, NAME, PORT, TARGETS } from "../topology.mjs";

const running = (service, configuration) => ({
  services: [service],
  first: service,
  probers: ["client"],
  isOnClient: true,
  configuration,
  parts: [service],
  client: { hosts: `127.0.0.1 ${NAME}` },
});

/** kubernetes-sigs/kubespray, roles/kubernetes/node/templates/loadbalancer/nginx.conf.j2. */
const NGINX = (serverOptions, timeout) => `error_log stderr notice;
worker_processes 2;
worker_rlimit_nofile 130048;
worker_shutdown_timeout 10s;
events {
  multi_accept on;
  use epoll;
  worker_connections 16384;
}
stream {
  upstream kube_apiserver {
    least_conn;
${TARGETS.map((id) => `    server ${ADDRESSES[id]}:${PORT}${serverOptions};\n`).join("")}  }
  server {
    listen 127.0.0.1:${PORT};
    proxy_pass kube_apiserver;
    proxy_timeout 10m;
    proxy_connect_timeout ${timeout};
  }
}
`;

const nginx = (serverOptions, timeout) => async (place) => {
  const text = NGINX(serverOptions, timeout);
  const folder = place.emptyFolder("nginx");
  const module = "load_module /usr/lib/nginx/modules/ngx_stream_module.so;\n";
  const file = place.write("nginx/nginx.conf", `${module}pid ${folder}/nginx.pid;\nuser root;\n${text}`);
  const args = ["-c", file, "-p", folder, "-g", "daemon off;"];
  const service = await place.service("client", "nginx", "nginx", args, { ready: /start worker process/ }).start();
  return running(service, [text]);
};

/** lexfrei/extractedprism, README: what it does was written anew in `go/proxy.go`. */
const prism = (options) => async (place) => {
  const endpoints = TARGETS.map((id) => `${ADDRESSES[id]}:${PORT}`).join(",");
  const args = ["-listen", `127.0.0.1:${PORT}`, "-endpoints", endpoints, ...options];
  const service = place.service("client", "proxy", place.lab.programs.proxy, args, { ready: /listening/ });
  return running(await service.start(), [`--endpoints ${endpoints}\n${options.join(" ")}\n`]);
};

export const NODE_PROXY_WAYS = {
  "nginx-node": {
    title: "nginx on the node",
    settings: "kubespray's",
    needs: ["nginx"],
    forgetsSlowly: true,
    start: nginx("", "1s"),
  },
  "nginx-node-fast": {
    title: "nginx on the node",
    settings: "connect timeout 300 ms, fail_timeout 30s",
    needs: ["nginx"],
    forgetsSlowly: true,
    start: nginx(" max_fails=1 fail_timeout=30s", "300ms"),
  },
  prism: {
    title: "extractedprism's way on the node",
    settings: "TCP check every 20 s",
    forgetsSlowly: true,
    start: prism([]),
  },
  "prism-fast": {
    title: "extractedprism's way on the node",
    settings: "TCP check every 2 s, timeout 1 s",
    forgetsSlowly: true,
    start: prism(["-health-interval", "2s", "-health-timeout", "1s"]),
  },
};
