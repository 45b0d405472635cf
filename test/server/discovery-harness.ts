import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { createHealthMonitor } from "../../src/health/monitor.js";
import { OverrideStore } from "../../src/health/overrides.js";
import { Changes, monitorReports } from "../../src/server/changes.js";
import { Discovery } from "../../src/server/discovery.js";
import { createOpenSource } from "../../src/server/discovery-sources.js";
import { ServedEndpoints } from "../../src/server/endpoints.js";
import { type ServerEvent, ServerEvents } from "../../src/server/events.js";
import { prepare } from "../../src/server/load-zones.js";
import { zoneEvents } from "../../src/server/zone-events.js";
import { type ApiServer, kubeconfigFor } from "../discovery/api-server.js";
import { afterThisTest } from "../support/cleanup.js";
import { createFakeClock } from "../support/fake-clock.js";
import { temporaryFolder } from "../support/temp.js";

export const FQDN = "api.k8s.example.test";

/** How a discovering server is set up. */
export interface DiscoverySketch {
  readonly api: ApiServer;
  /** YAML lines of the endpoint, at its indentation of 4. */
  readonly endpoint?: string;
  /** 0 (included) to 1 (not included). */
  readonly random?: () => number;
}

/** Discovery, health and answers as the server connects them, with time that stands still and probes that a test decides. */
export async function startDiscovery({ api, endpoint = "", random = () => 0.5 }: DiscoverySketch) {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "kubeconfig"), kubeconfigFor(api));
  writeFileSync(join(folder, "livezone.yaml"), "zones: [zone.yaml]\n");
  writeFileSync(
    join(folder, "zone.yaml"),
    `zone: k8s.example.test
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
endpoints:
  api:
    port: ${api.port}
    whenAllDown: none
    discover: [{ type: kubernetes, kubeconfig: kubeconfig }]
    probe: { interval: 1s, timeout: 1s, recheck: 500ms, tripwire: false }
${endpoint}`,
  );
  const clock = createFakeClock();
  const events = new ServerEvents(clock, pino({ level: "silent" }));
  const happened: ServerEvent[] = [];
  const served = new ServedEndpoints(clock, zoneEvents(events));
  const changes = new Changes(served, events);
  /** Addresses whose apiserver is ready. */
  const ready = new Set<string>();
  const monitor = createHealthMonitor({
    clock,
    random,
    runProbe: async ({ address }) =>
      ready.has(address)
        ? { class: "ok", reason: "ready", durationMs: 1 }
        : { class: "refused", reason: "connection refused", durationMs: 1 },
    overrideOf: (fqdn, target) => overrides.get(fqdn, target),
    ...monitorReports(changes, events),
  });
  const overrides = new OverrideStore({
    clock,
    initial: [],
    look(fqdn) {
      const health = monitor.snapshot().endpoints.get(fqdn);
      const one = served.endpoints.get(fqdn);
      return health && one && { health, policy: one.config, lastHealthy: one.lastHealthy };
    },
    onChange(change) {
      monitor.overrideChanged(change.entry.endpoint, change.entry.target);
      changes.override(change, monitor.snapshot());
    },
    onSaveError: () => {},
  });
  const openSource = createOpenSource({ clock, random });
  const discovery = new Discovery({ clock, events, served, monitor, overrides, initial: [], openSource });
  events.subscribe("discovery", discovery.subscriber());
  for (const type of ["source-failed", "source-recovered", "targets-changed", "source-noticed"] as const) {
    events.subscribe(type, { [type]: (event: ServerEvent) => happened.push(event) });
  }
  const next = discovery.withLearned(prepare(join(folder, "livezone.yaml")));
  monitor.configure(next.config.zones.flatMap(({ endpoints }) => endpoints));
  served.replaceZones(next.zones, monitor.snapshot());
  monitor.start();
  discovery.start();
  afterThisTest(async () => {
    await discovery.stop();
    monitor.stop();
  });
  const answers = (): string[] =>
    (served.endpoints.get(FQDN)?.answerable.addresses ?? []).map(({ address }) => address).sort();
  /** Lets time pass in small steps, and sockets move in between, until a condition holds. @returns the milliseconds */
  const until = async (
    condition: () => boolean,
    { stepMs = 50, most = 6_000, each = () => {} } = {},
  ): Promise<number> => {
    const begunMs = clock.monotonicMs();
    for (let step = 0; !condition(); step += 1) {
      if (step > most) throw new Error(`in vain: ${condition}; it answers ${answers()}`);
      await new Promise((resolve) => setTimeout(resolve, 1));
      await clock.advance(stepMs);
      each();
    }
    return clock.monotonicMs() - begunMs;
  };
  const pass = (ms: number, options: Parameters<typeof until>[1] = {}): Promise<number> => {
    const endMs = clock.monotonicMs() + ms;
    return until(() => clock.monotonicMs() >= endMs, options);
  };
  return { clock, ready, answers, until, pass, happened, discovery, overrides, monitor, served };
}
