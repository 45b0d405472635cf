import type { ProbeConfig } from "../../src/config/config.js";
import type { Override, ProbeResult, ResultClass, Transition } from "../../src/health/health.js";
import type {
  HealthMonitor,
  HealthMonitorOptions,
  MonitoredEndpoint,
  ProbeReport,
} from "../../src/health/health-monitor.js";
import { createHealthMonitor } from "../../src/health/monitor.js";
import type { TripwireEnd } from "../../src/health/tripwires.js";
import type { Clock } from "../../src/lib/clock.js";
import { createFakeClock } from "../support/fake-clock.js";

/** The settings that hold by default, tripwire and flap damping included. */
export const HTTPS: ProbeConfig = {
  intervalMs: 2000,
  timeoutMs: 2000,
  recheckMs: 1000,
  rise: 2,
  fall: 3,
  flap: { limit: 5, windowMs: 600_000 },
  tripwire: true,
  type: "https",
  path: "/readyz",
  expectStatus: [200],
  serverName: "api",
  port: 6443,
  insecureSkipVerify: false,
};

/** What an address answers to a probe that starts now. */
export interface Behaviour {
  readonly class: ResultClass;
  readonly tookMs: number;
  readonly names?: string;
}

export const OK: Behaviour = { class: "ok", tookMs: 5 };
export const REFUSED: Behaviour = { class: "refused", tookMs: 1 };
export const HANG: Behaviour = { class: "timeout", tookMs: 2000 };
export const NO_ROUTE: Behaviour = { class: "unreachable", tookMs: 1 };

/** Endpoints by name, each with the targets named; a target's address is `<target>-address`. */
export function endpoints(
  targets: Readonly<Record<string, readonly string[]>>,
  probe: ProbeConfig = HTTPS,
): MonitoredEndpoint[] {
  return Object.entries(targets).map(([fqdn, ids]) => ({
    fqdn,
    probe,
    targets: ids.map((id) => ({ id, addresses: [`${id}-address`] })),
  }));
}

/** A monitor in fake time whose process can stand still, with tripwires that the test breaks. */
export function monitorHarness(more: Partial<HealthMonitorOptions> = {}) {
  const fake = createFakeClock();
  let stoodStillMs = 0;
  const clock: Clock = {
    monotonicMs: () => fake.monotonicMs() + stoodStillMs,
    wallMs: () => fake.wallMs() + stoodStillMs,
    after: fake.after,
  };
  let state = 1;
  const behaviours = new Map<string, Behaviour>();
  const probes: { readonly address: string; readonly startedMs: number }[] = [];
  const transitions: (Transition & { readonly atMs: number })[] = [];
  const reports: ProbeReport[] = [];
  const isolations: boolean[] = [];
  const holds: string[] = [];
  const wires = new Map<string, (how: TripwireEnd) => void>();
  const overrides = new Map<string, Override>();
  const setOverride = (fqdn: string, target: string, override: Override | undefined): void => {
    if (override === undefined) overrides.delete(`${fqdn} ${target}`);
    else overrides.set(`${fqdn} ${target}`, override);
    monitor.overrideChanged(fqdn, target);
  };
  const monitor: HealthMonitor = createHealthMonitor({
    clock,
    overrideOf: (fqdn, target) => overrides.get(`${fqdn} ${target}`),
    random: () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state / 2 ** 32;
    },
    runProbe: ({ address }, _config, signal) =>
      new Promise((resolve) => {
        probes.push({ address, startedMs: clock.monotonicMs() });
        const { class: resultClass, tookMs, names } = behaviours.get(address) ?? OK;
        const certificate = names === undefined ? {} : { certificateExpiryMs: 0, certificateNames: names };
        const result: ProbeResult = { class: resultClass, reason: resultClass, durationMs: tookMs, ...certificate };
        const timer = clock.after(tookMs, () => resolve(result));
        signal?.addEventListener("abort", () => {
          timer.cancel();
          resolve({ class: "timeout", reason: "stopped", durationMs: 0 });
        });
      }),
    openTripwire(address, _config, onEnd) {
      wires.set(address, onEnd);
      return () => wires.delete(address);
    },
    onTransition: (batch) => transitions.push(...batch.map((one) => ({ ...one, atMs: clock.monotonicMs() }))),
    onResult: (report) => reports.push(report),
    onIsolation: (isolated) => isolations.push(isolated),
    onHold: (fqdns) => holds.push(...fqdns),
    ...more,
  });
  return {
    setOverride,
    clock,
    monitor,
    probes,
    transitions,
    reports,
    isolations,
    holds,
    wires,
    advance: (ms: number) => fake.advance(ms),
    pendingTimers: () => fake.pendingTimers,
    /** The process does not run for so long: time passes, and every timer is late. */
    standStill(ms: number) {
      stoodStillMs += ms;
    },
    behave: (behaviour: Behaviour, ...addresses: string[]) => {
      for (const address of addresses) behaviours.set(`${address}-address`, behaviour);
    },
    trip: (id: string) => {
      const end = wires.get(`${id}-address`);
      wires.delete(`${id}-address`);
      end?.("tripped");
    },
    /** `cp1:up cp2:down`, over all endpoints. */
    picture: () =>
      [...monitor.snapshot().endpoints.values()]
        .flatMap(({ targets }) => targets.map(({ id, addresses }) => `${id}:${addresses[0]?.health}`))
        .join(" "),
    address: (fqdn: string, id: string) =>
      monitor
        .snapshot()
        .endpoints.get(fqdn)
        ?.targets.find((target) => target.id === id)?.addresses[0],
  };
}
