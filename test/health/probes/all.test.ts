import { describe, expect, test } from "vitest";
import type { ProbeConfig, SingleProbeConfig } from "../../../src/config/config.js";
import type { ProbeResult } from "../../../src/health/health.js";
import { probeAll } from "../../../src/health/probes/all.js";
import { runAttempt } from "../../../src/health/probes/attempt.js";
import { createFakeClock } from "../../support/fake-clock.js";
import { waitUntil } from "../../support/wait.js";
import { answering, response, startPeer } from "./peers.js";
import { closedPort, http, NAME, probingSetUp, SCHEDULE, SHORT, said } from "./probing.js";

const probing = probingSetUp();
const { https, probe } = probing;

describe("a list of probes", () => {
  const ok = answering(response("200 OK", "ok"));
  const all = (...probes: readonly ProbeConfig[]): ProbeConfig => ({
    ...SCHEDULE,
    type: "all",
    probes: probes as readonly SingleProbeConfig[],
  });

  test("passes when all pass, and names each", async () => {
    const [plain, secure] = [
      await startPeer(ok),
      await startPeer(ok, { cert: probing.good.certPem, key: probing.good.keyPem }),
    ];
    const found = await probe(all(http(plain.port), https(secure.port)));
    expect(said(found)).toBe(`ok: http ${plain.port}: status 200; https ${secure.port}: status 200`);
    expect(found.certificateNames).toContain(NAME);
  });

  test("fails with the first that fails, names it, and ends the others", async () => {
    const [silent, passes] = [await startPeer(() => {}), await startPeer(ok)];
    const refused = await closedPort();
    expect(said(await probe(all(http(passes.port), http(silent.port), http(refused))))).toBe(
      `refused: http ${refused}: connection refused: nothing listens on the port`,
    );
    await waitUntil(() => silent.open === 0, { describe: "the connection to be released" });
  });

  test("says in which step one of them ran out of time", async () => {
    const [silent, passes] = [await startPeer(() => {}), await startPeer(ok)];
    const found = await probe({ ...all(http(passes.port), https(silent.port, SHORT)) });
    expect(said(found)).toBe(`timeout: https ${silent.port}: no TLS handshake within 700 ms`);
    expect(found.phase).toBe("tls");
  });
});

describe("of several results", () => {
  const probes = [
    { ...SCHEDULE, type: "exec", command: ["/usr/local/bin/check-supervisor", "-q"] },
    { ...SCHEDULE, type: "none" },
    { ...SCHEDULE, type: "tcp", port: 9345 },
  ] as unknown as readonly SingleProbeConfig[];

  /** Runs the list with these results, which come one after the other, in the order of the list. */
  function run(results: readonly Partial<ProbeResult>[]): Promise<ProbeResult> {
    return runAttempt(createFakeClock(), { timeoutMs: 1_000 }, undefined, (attempt) =>
      probeAll(probes, attempt, async (config) => ({
        class: "ok",
        reason: "fine",
        durationMs: 1,
        ...results[probes.indexOf(config)],
      })),
    );
  }

  test("the reason names each program, kind and port, in the order of the list", async () => {
    expect(said(await run([]))).toBe("ok: exec check-supervisor: fine; none: fine; tcp 9345: fine");
  });

  test("the certificate is the first that was seen", async () => {
    const results = [
      {},
      { certificateNames: "DNS:a", certificateNotYetValid: true as const },
      { certificateNames: "DNS:b" },
    ];
    const found = await run(results);
    expect(found).toMatchObject({ certificateNames: "DNS:a", certificateNotYetValid: true as const });
    expect(found).not.toHaveProperty("certificateExpiryMs");
  });

  test("the first failure decides, whatever comes after it", async () => {
    const found = await run([{}, { class: "refused", reason: "no" }, { class: "not-ready", reason: "later" }]);
    expect(said(found)).toBe("refused: none: no");
  });
});
