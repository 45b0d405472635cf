import { writeFileSync } from "node:fs";
import path from "node:path";
import { createSecureContext } from "node:tls";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { HttpsProbeConfig, ProbeConfig } from "../../../src/config/config.js";
import { type Authority, createAuthority } from "../../../src/demo/certificates.js";
import { createProbeFiles } from "../../../src/health/probes/files.js";
import { createRunProbe } from "../../../src/health/probes/probe.js";
import { createSessions, withoutCertificate } from "../../../src/health/probes/sessions.js";
import { type Clock, systemClock } from "../../../src/lib/clock.js";
import { runRandom } from "../../support/random.js";
import { temporaryFolder } from "../../support/temp.js";
import { answering, response, startPeer } from "./peers.js";

const NAME = "api.k8s.example.com";
const DAY_MS = 86_400_000;

let authority: Authority;
beforeAll(async () => {
  authority = await createAuthority();
});

/** A prober whose clocks can be moved, and a server that counts what is resumed. */
async function setUp(more: Partial<HttpsProbeConfig> = {}, options: { readonly maxVersion?: "TLSv1.2" } = {}) {
  let aheadMs = 0;
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => systemClock.monotonicMs() + aheadMs,
    wallMs: () => systemClock.wallMs() + aheadMs,
  };
  const folder = temporaryFolder();
  const ca = path.join(folder, "ca.crt");
  writeFileSync(ca, authority.caPem);
  const notAfter = new Date(Date.now() + 20 * DAY_MS);
  const { certPem, keyPem } = await authority.issue({ names: [NAME], notAfter });
  const resumed: boolean[] = [];
  let status = "200 OK";
  const peer = await startPeer(
    (socket) => {
      resumed.push((socket as unknown as { isSessionReused(): boolean }).isSessionReused());
      answering(response(status, "ok"))(socket);
    },
    { cert: certPem, key: keyPem, ...options },
  );
  const config = {
    type: "https",
    path: "/readyz",
    expectStatus: [200],
    serverName: NAME,
    port: peer.port,
    ca,
    insecureSkipVerify: false,
    resumeTls: true,
    intervalMs: 20_000,
    timeoutMs: 10_000,
    recheckMs: 1000,
    rise: 2,
    fall: 3,
    ...more,
  } as ProbeConfig;
  const run = createRunProbe(clock, createProbeFiles(clock));
  return {
    resumed,
    ca,
    probe: () => run({ address: "127.0.0.1" }, config),
    answer(line: string) {
      status = line;
    },
    pass(ms: number) {
      aheadMs += ms;
    },
  };
}

describe("TLS sessions", () => {
  test.each([
    ["TLS 1.3", {}],
    ["TLS 1.2", { maxVersion: "TLSv1.2" }],
  ] as const)("are resumed over %s, with the certificate that was verified", async (_name, options) => {
    const { probe, resumed } = await setUp({}, options);
    const first = await probe();
    const second = await probe();
    expect(resumed).toEqual([false, true]);
    expect(first).toMatchObject({ class: "ok", certificateNames: `DNS:${NAME}` });
    expect({ ...second, durationMs: 0 }).toEqual({ ...first, durationMs: 0 });
  });

  test("are not resumed unless that is asked for", async () => {
    const { probe, resumed } = await setUp({ resumeTls: false });
    await probe();
    await probe();
    expect(resumed).toEqual([false, false]);
  });

  test("are resumed for two and a half to five minutes after the certificate was verified", async () => {
    const { probe, resumed, pass } = await setUp();
    await probe();
    for (const ms of [75_000, 70_000, 160_000]) {
      pass(ms);
      await probe();
    }
    expect(resumed).toEqual([false, true, true, false]);
  });

  test("are given up with any failure", async () => {
    const { probe, resumed, answer } = await setUp();
    await probe();
    answer("500 Internal Server Error");
    expect((await probe()).class).toBe("not-ready");
    answer("200 OK");
    await probe();
    await probe();
    expect(resumed).toEqual([false, true, false, true]);
  });

  test("are not resumed with other authorities", async () => {
    const { probe, resumed, ca, pass } = await setUp();
    await probe();
    writeFileSync(ca, (await createAuthority({ commonName: "another" })).caPem);
    pass(5000);
    expect((await probe()).class).toBe("tls-untrusted");
    expect(resumed).not.toContain(true);
  });

  test("are not resumed once the certificate has ended", async () => {
    const { probe, resumed, pass } = await setUp();
    await probe();
    pass(20 * DAY_MS + 1000);
    await probe();
    expect(resumed).toEqual([false, false]);
  });

  test("are not kept for a certificate that is not trusted", async () => {
    const { probe, resumed } = await setUp({ serverName: "other.example.com" });
    expect((await probe()).class).toBe("tls-name-mismatch");
    expect((await probe()).class).toBe("tls-name-mismatch");
    expect(resumed).not.toContain(true);
  });
});

test("sessions of targets that are gone are not kept for longer than they would serve", () => {
  let nowMs = 0;
  const sessions = createSessions({ ...systemClock, monotonicMs: () => nowMs }, runRandom());
  const credentials = createSecureContext();
  const config = { port: 6443, serverName: NAME } as HttpsProbeConfig;
  for (let i = 0; i < 10_000; i += 1) {
    nowMs += 1000;
    sessions.keep(`2001:db8::${i.toString(16)}`, config, { ticket: Buffer.alloc(8), credentials, facts: {} });
    // One a second for five minutes, and as many that stand behind one which is not over yet.
    expect(sessions.size).toBeLessThanOrEqual(600);
  }
});

describe("a session without its certificate", () => {
  /** Of DER. */
  const element = (tag: number, value: Buffer) =>
    Buffer.concat([
      Buffer.from(value.length < 0x80 ? [tag, value.length] : [tag, 0x82, value.length >>> 8, value.length & 0xff]),
      value,
    ]);
  const session = (...parts: Buffer[]) => element(0x30, Buffer.concat(parts));
  const ticket = element(0xaa, Buffer.alloc(300, 7));

  test("has all its other elements, in their order", () => {
    const peer = element(0xa3, Buffer.alloc(700, 1));
    const rest = [element(2, Buffer.from([1])), element(0xa1, Buffer.from([2, 1, 9])), ticket];
    expect(withoutCertificate(session(...rest.slice(0, 2), peer, ticket))).toEqual(session(...rest));
    expect(withoutCertificate(session(...rest))).toEqual(session(...rest));
    expect(withoutCertificate(session(peer, ticket)).buffer.byteLength).toBeLessThan(400);
  });

  test("is what it was where it is not understood", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), fc.nat(400), (octets, cut) => {
        const garbage = Buffer.from(octets);
        const truncated = session(element(0xa3, Buffer.alloc(700, 1)), ticket).subarray(0, cut);
        for (const bad of [garbage, truncated]) {
          const result = withoutCertificate(bad);
          expect(result.length).toBeLessThanOrEqual(bad.length);
        }
        expect(withoutCertificate(truncated)).toEqual(truncated);
      }),
    );
  });
});
