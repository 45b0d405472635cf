# livezone as a container image.
#
#     docker build -t livezone .
#     docker run --read-only --tmpfs /run/livezone:uid=1000,gid=1000 \
#       --cap-drop ALL --cap-add NET_BIND_SERVICE \
#       -v ./livezone.yaml:/etc/livezone/livezone.yaml:ro -v livezone:/var/lib/livezone \
#       -p 192.0.2.53:53:53/udp -p 192.0.2.53:53:53/tcp livezone
#
# The process is never root. NET_BIND_SERVICE comes from the node binary's file capability, because a capability that
# is merely added to a container does not reach a user other than root. Two consequences:
# - without NET_BIND_SERVICE in the container's set, the kernel refuses to start node ("operation not permitted");
# - no-new-privileges (Kubernetes: allowPrivilegeEscalation: false) makes the kernel ignore file capabilities. Port 53
#   then needs the sysctl net.ipv4.ip_unprivileged_port_start=53, which Docker sets by itself.
#
# Node.js 24 is the newest line whose releases call themselves long-term support (process.release.lts: "Krypton").

FROM node:24-trixie-slim AS build
# For the native transport. Without a compiler livezone works, slower.
RUN apt-get update \
 && apt-get install -y --no-install-recommends gcc libc6-dev \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
# What decides the dependencies comes first, so that a change of the sources does not install them again.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --include=dev --ignore-scripts
COPY tsconfig.json ./
COPY scripts scripts
COPY src src
RUN npm run build
RUN npm prune --omit=dev --ignore-scripts

FROM node:24-trixie-slim
# Here, not in the first stage: not every builder carries a file capability along when it copies between stages.
RUN apt-get update \
 && apt-get install -y --no-install-recommends libcap2-bin \
 && setcap cap_net_bind_service=+ep /usr/local/bin/node \
 && apt-get purge -y --auto-remove libcap2-bin \
 && rm -rf /var/lib/apt/lists/*
# State and control socket belong to the user that the process runs as, 1000 ("node" in the base image).
RUN install -d -o 1000 -g 1000 /var/lib/livezone /run/livezone
WORKDIR /opt/livezone
COPY --from=build /src/package.json ./
COPY --from=build /src/node_modules node_modules
COPY --from=build /src/dist dist
COPY --from=build /src/build build
COPY zones zones
COPY LICENSE ./
ENV NODE_ENV=production
# Where the health check asks; follows `admin.http` of the configuration.
ENV LIVEZONE_HEALTH_URL=http://127.0.0.1:9853/livez
# By number, so that Kubernetes can tell that it is not root (runAsNonRoot).
USER 1000:1000
EXPOSE 53/udp 53/tcp 9853/tcp
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
  CMD ["node", "-e", "fetch(process.env.LIVEZONE_HEALTH_URL).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/opt/livezone/dist/main.js"]
CMD ["serve", "--config", "/etc/livezone/livezone.yaml"]
