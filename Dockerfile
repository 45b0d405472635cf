# livezone as a container image.
#
#     docker build -t livezone .
#     docker run --read-only --tmpfs /run/livezone:uid=1000,gid=1000 \
#       --cap-drop ALL --cap-add NET_BIND_SERVICE \
#       -v ./livezone.yaml:/etc/livezone/livezone.yaml:ro -v livezone:/var/lib/livezone \
#       -p 192.0.2.53:53:53/udp -p 192.0.2.53:53:53/tcp livezone
#
# The image holds the program in one bundle, Node.js and the libraries that it needs, and nothing else: no shell, no package manager.
# A probe of type exec needs its program: build an image FROM this one that adds it.
#
# The process is never root. NET_BIND_SERVICE comes from the node binary's file capability, because a capability that
# is merely added to a container does not reach a user other than root. Three consequences:
# - the builder must carry file capabilities from one stage to the next, as BuildKit and Buildah do;
# - without NET_BIND_SERVICE in the container's set, the kernel refuses to start node ("operation not permitted");
# - no-new-privileges (Kubernetes: allowPrivilegeEscalation: false) makes the kernel ignore file capabilities. Port 53
#   then needs the sysctl net.ipv4.ip_unprivileged_port_start=53, which Docker sets by itself.
#
# Node.js 24 is the newest line whose releases call themselves long-term support (process.release.lts: "Krypton").

FROM node:24-trixie-slim AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends gcc libc6-dev libcap2-bin \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
# What decides the dependencies comes first, so that a change of the sources does not install them again.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --include=dev --ignore-scripts
COPY tsconfig.json LICENSE livezone.schema.json livezone.openapi.json ./
COPY scripts scripts
COPY src src
COPY zones zones
RUN npm run build
RUN node scripts/package/image.mjs /image
RUN setcap cap_net_bind_service=+ep /image/usr/lib/livezone/bin/node

FROM scratch
COPY --from=build /image /
ENV NODE_ENV=production
# Where the health check asks; follows `admin.http` of the configuration.
ENV LIVEZONE_HEALTH_URL=http://127.0.0.1:9853/livez
# By number, so that Kubernetes can tell that it is not root (runAsNonRoot).
USER 1000:1000
EXPOSE 53/udp 53/tcp 9853/tcp
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
  CMD ["/usr/lib/livezone/bin/node", "-e", "fetch(process.env.LIVEZONE_HEALTH_URL).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["/usr/lib/livezone/bin/node", "/usr/lib/livezone/dist/main.js"]
CMD ["serve", "--config", "/etc/livezone/livezone.yaml"]
