import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { startBindAuthoritative, startBindResolver } from "./bind.js";
import { ask, askForAddresses, type DnsServer } from "./dns-client.js";
import type { DnsQuestion } from "./dns-message.js";
import { startKnot } from "./knot.js";
import { startNsd } from "./nsd.js";
import { freePort } from "./ports.js";
import { startPowerdns } from "./powerdns.js";
import { startProcess } from "./processes.js";
import { describeWith, requireProgram } from "./programs.js";
import type { ServedZones } from "./recipes.js";
import type { RunningServer } from "./servers.js";
import { startUnbound } from "./unbound.js";
import { waitUntil } from "./wait.js";

const ZONE = `$TTL 5
@    SOA ns1.k8s.example.test. hostmaster.example.test. 1 7200 900 1209600 5
@    NS  ns1
ns1  A   127.0.0.31
api  A   192.0.2.11
api  A   192.0.2.12
api  AAAA 2001:db8::11
txt  TXT "two" "strings \\"quoted\\""
mail MX  10 api
_etcd._tcp SRV 0 1 2379 api
@    CAA 0 issue "ca.example.test"
odd  TYPE65400 \\# 3 010203
`;

const PARENT = `$TTL 300
@       SOA ns.example.test. hostmaster.example.test. 1 7200 900 1209600 5
@       NS  ns
ns      A   127.0.0.30
k8s     NS  ns1.k8s
ns1.k8s A   127.0.0.31
`;

const AUTHORITATIVE: {
  readonly program: string;
  start(options: ServedZones): Promise<RunningServer>;
}[] = [
  { program: "named", start: startBindAuthoritative },
  { program: "nsd", start: startNsd },
  { program: "knotd", start: startKnot },
  { program: "pdns_server", start: startPowerdns },
];

for (const { program, start } of AUTHORITATIVE) {
  describeWith([program], `${program} as an authoritative server`, () => {
    it("answers for its zone over UDP and TCP, and our reader reads every type it sends", async () => {
      const server = await start({ zones: { "k8s.example.test": ZONE } });
      for (const transport of ["udp", "tcp"] as const) {
        const to = { server: server.address, port: server.port, transport } as const;
        const reply = await ask({ ...to, name: "ApI.k8s.example.test", edns: {} });
        expect(reply).toMatchObject({
          rcode: "NOERROR",
          flags: { qr: true, aa: true, tc: false, ra: false },
          questions: [{ name: "ApI.k8s.example.test.", type: "A", class: "IN" }],
          edns: { version: 0, dnssecOk: false },
        });
        expect(reply.answers.map(({ rdata }) => rdata).sort()).toEqual(["192.0.2.11", "192.0.2.12"]);
        expect(reply.answers[0]).toMatchObject({ type: "A", class: "IN", ttl: 5 });

        const rdata = async (name: string, type: string) =>
          (await ask({ ...to, name, type })).answers.map((record) => record.rdata);
        expect(await rdata("api.k8s.example.test", "AAAA")).toEqual(["2001:db8::11"]);
        expect(await rdata("txt.k8s.example.test", "TXT")).toEqual(['"two" "strings \\"quoted\\""']);
        expect(await rdata("mail.k8s.example.test", "MX")).toEqual(["10 api.k8s.example.test."]);
        expect(await rdata("_etcd._tcp.k8s.example.test", "SRV")).toEqual(["0 1 2379 api.k8s.example.test."]);
        expect(await rdata("k8s.example.test", "CAA")).toEqual(['0 issue "ca.example.test"']);
        expect(await rdata("odd.k8s.example.test", "TYPE65400")).toEqual(["\\# 3 010203"]);

        const negative = await ask({ ...to, name: "nothing.k8s.example.test" });
        expect(negative).toMatchObject({ rcode: "NXDOMAIN", answers: [], authorities: [{ type: "SOA", ttl: 5 }] });
        expect(negative.authorities[0]?.rdata).toBe(
          "ns1.k8s.example.test. hostmaster.example.test. 1 7200 900 1209600 5",
        );
        expect(await ask({ ...to, name: "example.org" })).toMatchObject({ rcode: "REFUSED", answers: [] });
        expect(await ask({ ...to, name: "k8s.example.test", edns: { version: 1 } })).toMatchObject({
          rcode: "BADVERS",
        });
      }
    });

    it("ends when it is stopped", async () => {
      const server = await start({ zones: { "k8s.example.test": ZONE } });
      await server.stop();
      expect(() => process.kill(server.pid, 0)).toThrow("ESRCH");
    });
  });
}

for (const { program, start } of AUTHORITATIVE) {
  describeWith([program, "named"], `${program} as a secondary server`, () => {
    it("transfers its zone from the primary", async () => {
      // PowerDNS has a name of its own for the type, writes it to its file, and cannot read it.
      const zone = ZONE.replace(/^odd .*\n/m, "");
      const { address, port } = await startBindAuthoritative({ zones: { "k8s.example.test": zone } });
      const server = await start({ secondaryZones: { "k8s.example.test": { address, port } } });
      const question = { server: server.address, port: server.port, name: "api.k8s.example.test" } as const;
      await waitUntil(async () => (await askForAddresses(question)).join() === "192.0.2.11,192.0.2.12");
      expect((await ask(question)).flags.aa).toBe(true);
    });
  });
}

describeWith(["nsd"], "nsd's minimalResponses", () => {
  it("decides whether the authority section of an answer names the servers", async () => {
    const sections = [];
    for (const minimalResponses of [false, true]) {
      const server = await startNsd({ zones: { "k8s.example.test": ZONE }, minimalResponses });
      const { authorities } = await ask({ server: server.address, port: server.port, name: "api.k8s.example.test" });
      sections.push(authorities.length);
    }
    expect(sections).toEqual([1, 0]);
  });
});

describeWith(["unbound", "knotd"], "unbound as a resolver", () => {
  it("asks the servers of a stub zone, flushes on demand, and sees a change once the TTL is over", async () => {
    const port = await freePort("127.0.0.31");
    const knot = await startKnot({ address: "127.0.0.31", port, zones: { "k8s.example.test": ZONE } });
    const unbound = await startUnbound({
      address: "127.0.0.32",
      stubZones: [{ name: "k8s.example.test", servers: [{ address: "127.0.0.31", port }] }],
    });
    const question = { server: "127.0.0.32", port: unbound.port, name: "api.k8s.example.test", rd: true } as const;
    expect(await ask(question)).toMatchObject({ rcode: "NOERROR", flags: { ra: true, aa: false } });
    expect(await askForAddresses(question)).toEqual(["192.0.2.11", "192.0.2.12"]);

    await knot.stop();
    await startKnot({
      address: "127.0.0.31",
      port,
      zones: { "k8s.example.test": ZONE.replace("api  A   192.0.2.12\n", "") },
    });
    expect(await askForAddresses(question)).toEqual(["192.0.2.11", "192.0.2.12"]);
    await unbound.control("flush", "api.k8s.example.test");
    await waitUntil(async () => (await askForAddresses(question)).join() === "192.0.2.11");
  });
});

describeWith(["named", "knotd", "unbound"], "bind as a resolver", () => {
  const expectAddresses = async (question: DnsServer & DnsQuestion) => {
    expect(await ask(question)).toMatchObject({ rcode: "NOERROR", flags: { ra: true, aa: false } });
    expect(await askForAddresses(question)).toEqual(["192.0.2.11", "192.0.2.12"]);
  };

  it("follows the delegation of a static-stub parent to servers on its own port", async () => {
    const port = await freePort("127.0.0.1", "::1", "127.0.0.31");
    await startBindAuthoritative({ port, zones: { "example.test": PARENT } });
    await startKnot({ address: "127.0.0.31", port, zones: { "k8s.example.test": ZONE } });
    const bind = await startBindResolver({ address: "::1", port, stubZones: { "example.test": ["127.0.0.1"] } });
    await expectAddresses({ server: bind.address, port, name: "api.k8s.example.test", rd: true });
  });

  it("follows the delegation of its own zone, for an unbound that forwards to it too", async () => {
    const port = await freePort("127.0.0.1", "127.0.0.31", "127.0.0.32");
    await startKnot({ address: "127.0.0.31", port, zones: { "k8s.example.test": ZONE } });
    const bind = await startBindResolver({ port, zones: { "example.test": PARENT } });
    await startUnbound({
      address: "127.0.0.32",
      port,
      forwardZones: [{ name: "example.test", servers: [{ address: bind.address, port }] }],
    });
    for (const server of ["127.0.0.1", "127.0.0.32"]) {
      await expectAddresses({ server, port, name: "api.k8s.example.test", rd: true });
    }
  });

  it("never leaves the machine for a name that it does not know", async () => {
    const port = await freePort("127.0.0.1", "127.0.0.32");
    const bind = await startBindResolver({ port });
    await startUnbound({ address: "127.0.0.32", port });
    const question = { port, name: "www.example.org", rd: true, timeoutMs: 10_000 } as const;
    expect((await ask({ ...question, server: "127.0.0.32" })).rcode).toBe("REFUSED");
    expect((await ask({ ...question, server: "127.0.0.1" })).rcode).toBe("SERVFAIL");
    // BIND names each server that it asked in vain.
    const asked = [...bind.stderr().matchAll(/resolving '.*': (\S+)#\d+$/gm)].map(([, server]) => server);
    expect(new Set(asked)).toEqual(new Set(["127.255.255.254"]));
  });
});

describeWith(["kdig", "knotd"], "kdig", () => {
  it("agrees with our client", async () => {
    const knot = await startKnot({ zones: { "k8s.example.test": ZONE } });
    const args = [`@${knot.address}`, "-p", String(knot.port), "+short", "+timeout=2", "api.k8s.example.test", "A"];
    const { stdout } = await promisify(execFile)(requireProgram("kdig"), args);
    expect(stdout.trim().split("\n").sort()).toEqual(
      await askForAddresses({ server: knot.address, port: knot.port, name: "api.k8s.example.test" }),
    );
  });
});

describe("a server that cannot start", () => {
  it("is reported with what it wrote", async () => {
    const broken = startProcess(process.execPath, ["-e", "console.error('no such zone'); process.exit(3)"], {
      readyWhen: /never/,
    });
    await expect(broken).rejects.toThrow(/exit code 3.*no such zone/s);
  });
});
