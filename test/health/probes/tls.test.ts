import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ProbeConfig } from "../../../src/config/config.js";
import { createProbeFiles } from "../../../src/health/probes/files.js";
import { createRunProbe } from "../../../src/health/probes/probe.js";
import { systemClock } from "../../../src/lib/clock.js";
import { temporaryFolder } from "../../support/temp.js";
import { chainOfThree } from "./intermediate.js";
import { answering, response, startPeer } from "./peers.js";

const NAME = "api.k8s.example.com";

describe("an intermediate as the authority", () => {
  const run = createRunProbe(systemClock, createProbeFiles());

  async function probe(served: "leaf" | "leaf and intermediate", ca: "the intermediate" | "another") {
    const chain = await chainOfThree(NAME);
    const file = join(temporaryFolder(), "ca.crt");
    writeFileSync(file, ca === "another" ? (await chainOfThree(NAME)).intermediatePem : chain.intermediatePem);
    const certPem = served === "leaf" ? chain.leafPem : `${chain.leafPem}\n${chain.intermediatePem}`;
    const peer = await startPeer(answering(response("200 OK", "ok")), { cert: certPem, key: chain.keyPem });
    const config: ProbeConfig = {
      ...{ intervalMs: 2000, timeoutMs: 10_000, recheckMs: 1000, rise: 2, fall: 3 },
      ...{ type: "https", path: "/readyz", expectStatus: [200], serverName: NAME, insecureSkipVerify: false },
      port: peer.port,
      ca: file,
    };
    return run({ address: "127.0.0.1" }, config, new AbortController().signal);
  }

  test.each(["leaf", "leaf and intermediate"] as const)("is trusted where the server sends the %s", async (served) => {
    expect(await probe(served, "the intermediate")).toMatchObject({ class: "ok" });
  });

  test("does not make another authority of the same name trusted", async () => {
    expect((await probe("leaf", "another")).class).toBe("tls-untrusted");
  });
});
