// Two minutes of answers that alternate and dawdle below the thresholds: not one change of the answer is due.
//
//     node bench/noise.mjs [SECONDS]      (default 120)
//
// Three servers: one alternates between 200 and 500 at every probe, one takes 1.9 s for each answer, one fails twice
// in every five. (Thirty minutes of the like in fake time are part of the tests.)
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { createHealthMonitor } from "../dist/health/monitor.js";
import { createProbeFiles } from "../dist/health/probes/files.js";
import { createRunProbe } from "../dist/health/probes/probe.js";
import { systemClock } from "../dist/lib/clock.js";

const seconds = Number(process.argv[2] ?? 120);
const SLOW_MS = 1_900;

const behaviours = {
  alternating: (count, reply) => reply(count % 2 === 0 ? 200 : 500),
  slow: (_count, reply) => setTimeout(() => reply(200), SLOW_MS),
  "two of five": (count, reply) => reply(count % 5 < 3 ? 200 : 429),
};
const counts = {};
const servers = await Promise.all(
  Object.entries(behaviours).map(async ([name, behave]) => {
    counts[name] = 0;
    const server = createServer((_request, response) => {
      behave(counts[name]++, (status) => response.writeHead(status, { connection: "close" }).end());
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return { name, server, port: server.address().port };
  }),
);
const transitions = [];
const monitor = createHealthMonitor({
  clock: systemClock,
  random: Math.random,
  runProbe: createRunProbe(systemClock, createProbeFiles()),
  onTransition: (batch) => transitions.push(...batch),
});
monitor.configure(
  servers.map(({ name, port }) => ({
    fqdn: name,
    targets: [{ id: "cp1", addresses: ["127.0.0.1"] }],
    probe: {
      type: "http",
      path: "/readyz",
      expectStatus: [200],
      serverName: "api.k8s.example.com",
      port,
      intervalMs: 2_000,
      timeoutMs: 3_000,
      recheckMs: 1_000,
      rise: 2,
      fall: 3,
      flap: { limit: 5, windowMs: 600_000 },
    },
  })),
);
monitor.start();
await monitor.firstRound;
await sleep(seconds * 1_000);
monitor.stop();
for (const { server } of servers) server.close();
const changes = transitions.filter(({ from }) => from !== "unknown");
console.log(`${seconds} s, probes: ${JSON.stringify(counts)}`);
for (const { fqdn, from, to, result } of changes) console.log(`${fqdn}: ${from} → ${to}, ${result.reason}`);
console.log(changes.length === 0 ? "Not one change." : `${changes.length} changes.`);
process.exit(changes.length === 0 ? 0 : 1);
