import { writeFileSync } from "node:fs";
import path from "node:path";
import { pino } from "pino";
import { expect, test } from "vitest";
import type { ProbeConfig } from "../../src/config/config.js";
import { createAuthority } from "../../src/demo/certificates.js";
import { createProbeFiles } from "../../src/health/probes/files.js";
import { createRunProbe } from "../../src/health/probes/probe.js";
import { type Clock, systemClock } from "../../src/lib/clock.js";
import { clockSuspecting } from "../../src/server/clock-suspecting.js";
import { ServerEvents } from "../../src/server/events.js";
import { eventLogging } from "../../src/server/log-lines.js";
import { answering, response, startPeer } from "../health/probes/peers.js";
import { temporaryFolder } from "../support/temp.js";

const NAME = "api.k8s.example.com";
const DAY_MS = 86_400_000;

test("certificates that are not valid yet make the clock suspect, once, until one is valid", async () => {
  const authority = await createAuthority();
  const ca = path.join(temporaryFolder(), "ca.crt");
  writeFileSync(ca, authority.caPem);
  const lines: { level: number; msg: string }[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const clock: Clock = systemClock;
  const events = new ServerEvents(clock, log);
  events.subscribe("log", eventLogging(log));
  events.subscribe("clock", clockSuspecting(events));

  const probe = async (notBefore: Date, address: string) => {
    const { certPem, keyPem } = await authority.issue({
      names: [NAME],
      notBefore,
      notAfter: new Date(Date.now() + 9 * DAY_MS),
    });
    const peer = await startPeer(answering(response("200 OK", "ok")), { cert: certPem, key: keyPem });
    const config: ProbeConfig = {
      ...{ intervalMs: 2000, timeoutMs: 10_000, recheckMs: 1000, rise: 2, fall: 3 },
      ...{ type: "https", path: "/readyz", expectStatus: [200], serverName: NAME, insecureSkipVerify: false },
      ...{ port: peer.port, ca },
    };
    const result = await createRunProbe(clock, createProbeFiles(clock))({ address: "127.0.0.1" }, config);
    const report = { address, config, result, lagMs: 0, targets: [{ fqdn: NAME, target: address }] };
    events.publish({ type: "probe-finished", report });
    return result;
  };

  const tomorrow = new Date(Date.now() + DAY_MS);
  expect(await probe(tomorrow, "192.0.2.1")).toMatchObject({ class: "tls-expired", certificateNotYetValid: true });
  await probe(tomorrow, "192.0.2.2");
  expect(lines).toMatchObject([{ level: 50, msg: "no certificate is valid yet, this machine's clock is suspect" }]);
  await probe(new Date(Date.now() - DAY_MS), "192.0.2.1");
  expect(lines.slice(1)).toMatchObject([{ level: 30, msg: "certificates are valid by this machine's clock again" }]);
});
