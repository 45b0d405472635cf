import { createSocket } from "node:dgram";
import { once } from "node:events";
import { beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../src/lib/clock.js";
import type { Client } from "../../src/query/client.js";
import { TRANSPORTS } from "../../src/query/counters.js";
import { createPolicy } from "../../src/query/policy.js";
import type { Respond } from "../../src/query/respond.js";
import { openTcp } from "../../src/transport/tcp.js";
import { openUdp } from "../../src/transport/udp.js";
import { addressText } from "../../src/wire/address.js";
import { type ServedZone, serveSketch } from "../answers/serve.js";
import { afterAllTests } from "../support/cleanup.js";
import { ask } from "../support/dns-client.js";
import { type DnsMessage, parseMessage } from "../support/dns-message.js";
import { findProgram } from "../support/programs.js";
import { runRandom } from "../support/random.js";
import { type RunningServer, startServer } from "../support/servers.js";
import { waitUntil } from "../support/wait.js";
import { RESOLVER_CASES } from "./resolvers.js";
import { type SignedRoot, startSignedRoot } from "./root.js";

const ZONE = "k8s.corp.internal";
const ROOT = "127.1.0.1";
const SERVERS = ["127.1.0.53", "127.1.0.54"];

/** Seconds, of the endpoint's answers. */
const TTL = 5;

/** Milliseconds that looking at ten resolvers in turn may add to what is measured. */
const LOOKING_MS = 500;

const THREE = { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"], cp3: ["192.0.2.13", "2001:db8::13"] };
const CROWD = Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`t${i}`, [`198.51.100.${i + 1}`]]));

const SKETCH = {
  zone: ZONE,
  nameservers: Object.fromEntries(SERVERS.map((address, i) => [`ns${i + 1}`, [address]])),
  records: "registry 60 IN A 192.0.2.20\nwww 60 IN CNAME api\ndeep.ent 60 IN A 192.0.2.21\n*.wild 60 IN TXT wild\n",
  endpoints: { api: THREE, crowd: CROWD },
};

const PROGRAMS: Readonly<Record<string, string>> = {
  unbound: "unbound",
  bind: "named",
  "pdns-recursor": "pdns_recursor",
  "knot-resolver": "kresd",
  dnsmasq: "dnsmasq",
};

/** Whether port 53 of loopback may be bound here, which delegations lead to. */
async function mayBind53(): Promise<boolean> {
  const socket = createSocket("udp4");
  try {
    socket.bind(53, ROOT);
    await once(socket, "listening");
    return true;
  } catch {
    return false;
  } finally {
    await new Promise<void>((resolve) => socket.close(() => resolve()));
  }
}

const absent = Object.values({ ...PROGRAMS, root: "knotd" }).filter((program) => findProgram(program) === undefined);
const canBind = await mayBind53();
const missing = [
  ...absent.map((program) => `${program} not installed`),
  ...(canBind ? [] : ["port 53 of loopback cannot be bound"]),
];
const resolvers = missing.length === 0 ? describe : describe.skip;

resolvers(`resolvers that are delegated to${missing.length === 0 ? "" : ` (skipped: ${missing.join(", ")})`}`, () => {
  const cleanup = afterAllTests();
  /** Every query that has come, by the address it came from. */
  const asked = new Map<string, { readonly message: DnsMessage; readonly transport: string }[]>();
  const running = new Map<string, RunningServer>();
  let root: SignedRoot;
  let livezone: ServedZone;

  beforeAll(async () => {
    root = await startSignedRoot(ZONE, SERVERS, { address: ROOT, cleanup });
    const policy = createPolicy({ cookieSecrets: [new Uint8Array(16)], tcpIdleMs: 10_000 }, systemClock, runRandom());
    livezone = serveSketch({ ...SKETCH, policy });
    const respond: Respond = (request, at, length, reply, replyAt, transport, client) => {
      const from = sourceOf(client);
      const message = parseMessage(request.slice(at, at + length));
      asked.set(from, [...(asked.get(from) ?? []), { message, transport: TRANSPORTS[transport] }]);
      return livezone.respond(request, at, length, reply, replyAt, transport, client);
    };
    for (const address of SERVERS) {
      const udp = await openUdp({ address, port: 53 }, respond);
      cleanup(() => udp.stop(0));
      const tcp = await openTcp(udp.address, respond);
      cleanup(() => tcp.stop(0));
    }
    await Promise.all(
      RESOLVER_CASES.map(async ({ name, settings, source, place, recipe }) => {
        const around = { root, zone: ZONE, servers: SERVERS };
        running.set(`${name} ${settings}`, await startServer({ ...place, cleanup }, recipe(around, source)));
      }),
    );
  }, 60_000);

  const cases = RESOLVER_CASES.map((one) => [`${one.name} ${one.settings}`, one] as const);

  describe.each(cases)("%s", (key, { source, mixesCase, sendsCookies, validates }) => {
    const resolve = (name: string, type = "A", transport: "udp" | "tcp" = "udp") => {
      const { address, port } = running.get(key) as RunningServer;
      const query = { name: `${name}.${ZONE}`, type, rd: true, edns: { udpSize: 1232 } };
      return ask({ ...query, server: address, port, transport, timeoutMs: 8_000 });
    };
    const data = ({ answers }: DnsMessage) => answers.map(({ rdata }) => rdata).sort();

    test("A, AAAA, CNAME, SRV and a wildcard", async () => {
      expect(data(await resolve("api"))).toEqual(["192.0.2.11", "192.0.2.12", "192.0.2.13"]);
      expect(data(await resolve("API", "AAAA"))).toEqual(["2001:db8::13"]);
      expect(data(await resolve("www"))).toEqual(["192.0.2.11", "192.0.2.12", "192.0.2.13", `api.${ZONE}.`]);
      expect(data(await resolve("_https._tcp.api", "SRV"))).toHaveLength(3);
      expect(data(await resolve("a.b.wild", "TXT"))).toEqual(['"wild"']);
    });

    test("NODATA, NXDOMAIN and empty non-terminals", async () => {
      expect(await resolve("registry", "AAAA")).toMatchObject({ rcode: "NOERROR", answers: [] });
      expect(await resolve("nothing")).toMatchObject({ rcode: "NXDOMAIN", answers: [] });
      expect(await resolve("ent")).toMatchObject({ rcode: "NOERROR", answers: [] });
      expect(data(await resolve("deep.ent"))).toEqual(["192.0.2.21"]);
    });

    test("an answer that takes TCP", async () => {
      expect(data(await resolve("crowd", "A", "tcp"))).toHaveLength(90);
      const transports = new Set((asked.get(source) ?? []).map(({ transport }) => transport));
      expect(transports).toEqual(new Set(["udp", "tcp"]));
    });

    test("validates the root, and takes the zone for what it is: delegated without DS", async () => {
      const { address, port } = running.get(key) as RunningServer;
      const to = { server: address, port, rd: true, edns: { dnssecOk: true }, timeoutMs: 8_000 };
      if (validates) expect(await ask({ ...to, name: ".", type: "SOA" })).toMatchObject({ flags: { ad: true } });
      const ours = await ask({ ...to, name: `api.${ZONE}` });
      expect(ours).toMatchObject({ rcode: "NOERROR", flags: { ad: false } });
    });

    test("what it sends is what its settings say", async () => {
      const queries = (asked.get(source) ?? []).map(({ message }) => message);
      expect(queries.length).toBeGreaterThan(0);
      const names = queries.map(({ questions }) => questions[0]?.name ?? "");
      // In the zone's own name, which the tests write in lower case.
      expect(names.some((name) => /[A-Z]/.test(name.slice(-ZONE.length - 1)))).toBe(mixesCase);
      const cookies = queries.filter(({ edns }) => edns?.options.some(({ code }) => code === 10));
      expect(cookies.length > 0).toBe(sendsCookies);
      if (sendsCookies) {
        // Once it has learned ours, it sends it back.
        const learned = cookies.filter(({ edns }) => edns?.options.some(({ data }) => data.length === 24));
        expect(learned.length).toBeGreaterThan(0);
      }
    });
  });

  test("a withdrawal is seen by all within the TTL and a second, and so is the return", async () => {
    const seen = async (one: (typeof RESOLVER_CASES)[number]) => {
      const { address, port } = running.get(`${one.name} ${one.settings}`) as RunningServer;
      const reply = await ask({ server: address, port, name: `api.${ZONE}`, rd: true, timeoutMs: 5_000 });
      return reply.answers
        .map(({ rdata }) => rdata)
        .sort()
        .join(" ");
    };
    const measure = async (expected: string): Promise<Map<string, number>> => {
      const began = performance.now();
      const took = new Map<string, number>();
      await Promise.all(
        RESOLVER_CASES.map(async (one) => {
          await waitUntil(async () => (await seen(one)) === expected, {
            timeoutMs: 20_000,
            everyMs: 50,
            describe: `${one.name} ${one.settings}`,
          });
          took.set(`${one.name} ${one.settings}`, performance.now() - began);
        }),
      );
      return took;
    };
    const all = "192.0.2.11 192.0.2.12 192.0.2.13";
    await measure(all);
    livezone.setAnswer("api", { cp1: THREE.cp1, cp3: THREE.cp3 });
    const withdrawn = await measure("192.0.2.11 192.0.2.13");
    livezone.setAnswer("api", THREE);
    const returned = await measure(all);
    for (const took of [withdrawn, returned]) {
      for (const [resolver, ms] of took)
        expect({ resolver, isInTime: ms < (TTL + 1) * 1_000 + LOOKING_MS }).toEqual({ resolver, isInTime: true });
    }
    if (process.env.LIVEZONE_RESOLVERS_REPORT) report(asked, withdrawn, returned);
  }, 60_000);
});

function sourceOf({ octets, at, length }: Client): string {
  return addressText(octets.subarray(at, at + length));
}

/** What `docs/resolvers.md` says, anew: `LIVEZONE_RESOLVERS_REPORT=1 npx vitest run test/resolvers`. */
function report(
  asked: ReadonlyMap<string, readonly { readonly message: DnsMessage; readonly transport: string }[]>,
  withdrawn: ReadonlyMap<string, number>,
  returned: ReadonlyMap<string, number>,
): void {
  for (const { name, settings, source, remark } of RESOLVER_CASES) {
    const queries = asked.get(source) ?? [];
    const messages = queries.map(({ message }) => message);
    const has = (what: (message: DnsMessage) => boolean) => (messages.some(what) ? "yes" : "no");
    const sizes = new Set(messages.map(({ edns }) => edns?.udpSize ?? "none"));
    const key = `${name} ${settings}`;
    console.log(
      [
        key,
        remark,
        `${queries.length} queries`,
        `EDNS ${[...sizes].join("/")}`,
        `DO ${has(({ edns }) => edns?.dnssecOk === true)}`,
        `RD ${has(({ flags }) => flags.rd)}`,
        `0x20 ${has(({ questions }) => /[A-Z]/.test(questions[0]?.name.slice(-ZONE.length - 1) ?? ""))}`,
        `cookies ${has(({ edns }) => edns?.options.some(({ code }) => code === 10) === true)}`,
        `minimised ${has(({ questions }) => [`_tcp.api.${ZONE}.`, `b.wild.${ZONE}.`].includes(questions[0]?.name.toLowerCase() ?? ""))}`,
        `withdrawn after ${((withdrawn.get(key) ?? 0) / 1_000).toFixed(1)} s`,
        `back after ${((returned.get(key) ?? 0) / 1_000).toFixed(1)} s`,
      ].join(" | "),
    );
  }
}
