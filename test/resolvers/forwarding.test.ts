import { beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../src/lib/clock.js";
import { createPolicy } from "../../src/query/policy.js";
import type { Respond } from "../../src/query/respond.js";
import { openTcp } from "../../src/transport/tcp.js";
import { openUdp } from "../../src/transport/udp.js";
import { serveSketch } from "../answers/serve.js";
import { afterAllTests } from "../support/cleanup.js";
import { ask } from "../support/dns-client.js";
import { parseMessage } from "../support/dns-message.js";
import { findProgram } from "../support/programs.js";
import { runRandom } from "../support/random.js";
import { bindRecipe, type ServerRecipe, unboundRecipe } from "../support/recipes.js";
import { type RunningServer, startServer } from "../support/servers.js";

const ZONE = "k8s.example.com";

interface Server {
  readonly address: string;
  readonly port: number;
}

/** Resolvers that are told to forward the zone, as to another resolver: with RD. */
const FORWARDERS: Readonly<Record<string, { readonly program: string; recipe(livezone: Server): ServerRecipe }>> = {
  "Unbound, forward-zone": {
    program: "unbound",
    recipe: (livezone) => unboundRecipe({ forwardZones: [{ name: ZONE, servers: [livezone] }] }),
  },
  "BIND, forward only": {
    program: "named",
    recipe: ({ address, port }) =>
      bindRecipe({
        optionLines: ["recursion yes;"],
        clauses: [`zone "${ZONE}" { type forward; forward only; forwarders { ${address} port ${port}; }; };`],
      }),
  },
  "PowerDNS Recursor, forward-zones-recurse": {
    program: "pdns_recursor",
    recipe: (livezone) => ({
      program: "pdns_recursor",
      args: ({ folder }) => [`--config-dir=${folder}`],
      files: ({ address, port, folder }) => ({
        "recursor.conf": `local-address=${address}
local-port=${port}
socket-dir=${folder}
forward-zones-recurse=${ZONE}=${livezone.address}:${livezone.port}
dont-query=
daemon=no
threads=1
disable-syslog=yes
security-poll-suffix=
dnssec=off
`,
      }),
    }),
  },
};

describe("resolvers that forward the zone with RD", () => {
  const cleanup = afterAllTests();
  /** RD of the queries that came. */
  let recursive: boolean[] = [];
  let livezone: Server;

  beforeAll(async () => {
    const policy = createPolicy({ cookieSecrets: [new Uint8Array(16)], tcpIdleMs: 10_000 }, systemClock, runRandom());
    const crowd = Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`t${i}`, [`198.51.100.${i + 1}`]]));
    const served = serveSketch({
      zone: ZONE,
      nameservers: { ns1: ["127.0.0.1"] },
      records: "www 60 IN CNAME api\n",
      endpoints: { api: { cp1: ["192.0.2.11"], cp2: ["192.0.2.12", "2001:db8::12"] }, crowd },
      policy,
    });
    const respond: Respond = (request, at, length, ...rest) => {
      recursive.push(parseMessage(request.slice(at, at + length)).flags.rd);
      return served.respond(request, at, length, ...rest);
    };
    const udp = await openUdp({ address: "127.0.0.1", port: 0 }, respond);
    cleanup(() => udp.stop(0));
    const tcp = await openTcp(udp.address, respond);
    cleanup(() => tcp.stop(0));
    livezone = udp.address;
  });

  for (const [name, { program, recipe }] of Object.entries(FORWARDERS)) {
    const isAbsent = findProgram(program) === undefined;
    test.skipIf(isAbsent)(`${name}${isAbsent ? ` (skipped: ${program} not installed)` : ""}`, async () => {
      recursive = [];
      const server: RunningServer = await startServer({}, recipe(livezone));
      const resolve = async (label: string, type = "A", transport: "udp" | "tcp" = "udp") => {
        const to = { server: server.address, port: server.port, rd: true, transport, timeoutMs: 5_000 };
        const { rcode, answers } = await ask({ ...to, name: `${label}.${ZONE}`, type });
        return [
          rcode,
          ...answers
            .filter((one) => one.type === type)
            .map(({ rdata }) => rdata)
            .sort(),
        ];
      };
      expect(await resolve("api")).toEqual(["NOERROR", "192.0.2.11", "192.0.2.12"]);
      expect(await resolve("api", "AAAA")).toEqual(["NOERROR", "2001:db8::12"]);
      expect(await resolve("www")).toEqual(["NOERROR", "192.0.2.11", "192.0.2.12"]);
      expect(await resolve("_https._tcp.api", "SRV")).toHaveLength(3);
      expect(await resolve("www", "AAAA")).toEqual(["NOERROR", "2001:db8::12"]);
      expect(await resolve("nothing")).toEqual(["NXDOMAIN"]);
      expect(await resolve("crowd", "A", "tcp")).toHaveLength(91);
      // As to a resolver; not one of the queries is of the other kind.
      expect(new Set(recursive)).toEqual(new Set([true]));
    });
  }
});
