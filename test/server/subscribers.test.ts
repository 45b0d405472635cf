import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { beforeAll, describe, expect, test } from "vitest";
import { createEventLog } from "../../src/admin/event-ring.js";
import type { AdminEvent } from "../../src/admin/schemas.js";
import type { ProbeReport } from "../../src/health/health-monitor.js";
import { adminEvents } from "../../src/server/admin-events.js";
import { certificateWarnings } from "../../src/server/certificate-warnings.js";
import type { ServedEndpoint } from "../../src/server/endpoints.js";
import { eventMetrics } from "../../src/server/event-metrics.js";
import { type ServerEvent, ServerEvents } from "../../src/server/events.js";
import { prepare } from "../../src/server/load-zones.js";
import { eventLogging } from "../../src/server/log-lines.js";
import { watchedAddresses } from "../../src/server/watched-addresses.js";
import { emptyMetrics } from "../admin/empty-metrics.js";
import { afterAllTests } from "../support/cleanup.js";
import { createFakeClock } from "../support/fake-clock.js";
import { temporaryFolder } from "../support/temp.js";

const FQDN = "api.k8s.example.com";
const CP1 = { fqdn: FQDN, target: "cp1", address: "192.0.2.11" } as const;
const OVERRIDE = {
  endpoint: FQDN,
  target: "cp1",
  kind: "drained",
  reason: "disk",
  author: "alice",
  origin: "operator",
  setAtMs: Date.UTC(2026, 0, 1),
} as const;

const cleanup = afterAllTests();
let config: ReturnType<typeof prepare>["config"];

beforeAll(() => {
  const folder = temporaryFolder(cleanup);
  writeFileSync(join(folder, "livezone.yaml"), "zones: [zone.yaml]\n");
  writeFileSync(
    join(folder, "zone.yaml"),
    `zone: k8s.example.com
nameservers: { ns1: 192.0.2.53 }
endpoints: { api: { targets: { cp1: 192.0.2.11, cp2: [192.0.2.12, "2001:db8::12"] }, probe: { type: none } } }
`,
  );
  ({ config } = prepare(join(folder, "livezone.yaml")));
});

/** The endpoint as it is served, with these addresses of `cp1` in its answers. */
function served(mode: "healthy" | "fail-open" | "none", ...addresses: readonly string[]): ServedEndpoint {
  const [zone] = config.zones;
  const answerable = {
    mode,
    upTargets: addresses.length,
    addresses: addresses.map((address) => ({ target: "cp1", address })),
  };
  // The zone's value is for compiling answers, which nobody here does.
  return { zone, config: zone?.endpoints[0], answerable, lastHealthy: [] } as unknown as ServedEndpoint;
}

const down = (to: "up" | "down", ...answered: readonly string[]): ServerEvent => ({
  type: "health-changed",
  transition: {
    ...CP1,
    from: to === "up" ? "down" : "up",
    to,
    result: { class: "refused", reason: "connection refused", durationMs: 1 },
    afterMs: 230.6,
  },
  endpoint: served("healthy", ...answered),
});

/** What the log has after these events. */
function logged(...events: readonly ServerEvent[]) {
  const lines: { level: string; msg: string; [field: string]: unknown }[] = [];
  const options = { base: null, timestamp: false, formatters: { level: (level: string) => ({ level }) } };
  const log = pino(options, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const stream = new ServerEvents(createFakeClock(), log);
  stream.subscribe("log", eventLogging(log));
  for (const event of events) stream.publish(event);
  return lines;
}

const NAMES = { zone: "k8s.example.com", endpoint: "api", target: "cp1" };

describe("the log", () => {
  test("tells of health once the answers have followed it", () => {
    expect(logged(down("down"), down("down", CP1.address), down("up", CP1.address), down("up"))).toMatchObject([
      { level: "warn", msg: "target withdrawn", ...NAMES, address: CP1.address, class: "refused", afterMs: 231 },
      { level: "warn", msg: "target went down, still answered" },
      { level: "info", msg: "target answered" },
      { level: "info", msg: "target came up" },
    ]);
  });

  test("names who cleared an override, and who had set it", () => {
    const endpoint = served("healthy");
    const bob = { author: "bob", origin: "sibling:ns2" } as const;
    const lines = logged(
      { type: "override-changed", change: { action: "set", entry: OVERRIDE, actor: OVERRIDE }, endpoint },
      { type: "override-changed", change: { action: "cleared", entry: OVERRIDE, actor: bob } },
    );
    expect(lines).toEqual([
      {
        level: "info",
        msg: "override set",
        ...NAMES,
        override: "drained",
        reason: "disk",
        author: "alice",
        origin: "operator",
      },
      {
        level: "info",
        msg: "override cleared",
        endpoint: FQDN,
        target: "cp1",
        override: "drained",
        reason: "disk",
        author: "bob",
        origin: "sibling:ns2",
        setBy: "alice",
        setAt: "2026-01-01T00:00:00.000Z",
      },
    ]);
  });

  test("tells when a suppression begins and ends", () => {
    const begin = { ...CP1, isSuppressed: true, untilMs: Date.UTC(2026, 0, 1), changes: 6 };
    const endpoint = served("healthy");
    expect(
      logged(
        { type: "suppression-changed", change: begin, endpoint },
        { type: "suppression-changed", change: { ...CP1, isSuppressed: false }, endpoint },
      ),
    ).toMatchObject([
      { level: "warn", msg: "target suppressed, it flaps", ...NAMES, changes: 6, until: "2026-01-01T00:00:00.000Z" },
      { level: "info", msg: "suppression ended", ...NAMES },
    ]);
  });

  test("is silent of modes until queries are answered, and then tells of those that are not healthy", () => {
    const failOpen = served("fail-open", CP1.address);
    const changed: ServerEvent = { type: "answers-changed", endpoint: failOpen, before: served("healthy").answerable };
    const ready: ServerEvent = { type: "ready", isComplete: true, endpoints: [failOpen] };
    expect(logged(changed, ready, changed).map(({ msg }) => msg)).toEqual([
      "ready",
      "endpoint failed open",
      "endpoint failed open",
    ]);
  });

  test("tells that a credential of probes ends soon, and that it has ended", () => {
    const end = { file: "/etc/livezone/token", expiryMs: Date.UTC(2026, 0, 1) };
    const fields = { file: "/etc/livezone/token", expires: "2026-01-01T00:00:00.000Z" };
    expect(
      logged(
        { type: "probe-credential-end", end: { ...end, isOver: false } },
        { type: "probe-credential-end", end: { ...end, isOver: true } },
      ),
    ).toEqual([
      { level: "warn", msg: "probe credential expires soon", ...fields },
      { level: "error", msg: "probe credential has expired", ...fields },
    ]);
  });

  test("tells of stalls from a second on", () => {
    expect(logged({ type: "stalled", lengthMs: 999 }, { type: "stalled", lengthMs: 1_000 })).toMatchObject([
      { msg: "process stalled", stalledMs: 1_000 },
    ]);
  });
});

test("readers of the admin API's events learn what happens, without what only the server knows", () => {
  const log = createEventLog(createFakeClock(), 1);
  const seen: AdminEvent[] = [];
  log.subscribe((event) => seen.push(event));
  const stream = new ServerEvents(createFakeClock(), pino({ level: "silent" }));
  stream.subscribe("admin events", adminEvents(log));
  stream.publish(down("down"));
  stream.publish({
    type: "override-changed",
    change: { action: "set", entry: OVERRIDE, actor: { author: "alice", origin: "operator" } },
  });
  stream.publish({
    type: "override-changed",
    change: { action: "expired", entry: OVERRIDE, actor: { origin: "operator" } },
  });
  stream.publish({ type: "isolation-changed", isolated: true });
  stream.publish({ type: "reload-refused", error: new Error("x"), problems: [] });
  stream.publish({ type: "stalled", lengthMs: 5_000 });
  expect(seen).toMatchObject([
    { type: "health", endpoint: FQDN, target: "cp1", from: "up", to: "down", class: "refused", answered: false },
    {
      type: "override",
      action: "set",
      author: "alice",
      origin: "operator",
      override: { kind: "drained", reason: "disk" },
    },
    { type: "override", action: "expired", target: "cp1" },
    { type: "isolation", isolated: true },
    { type: "reload", ok: false },
  ]);
  expect(seen[2]).not.toHaveProperty("override");
});

test("metrics count probes and changes of health, and show what became of reloads", async () => {
  const metrics = emptyMetrics();
  const stream = new ServerEvents(createFakeClock(), pino({ level: "silent" }));
  stream.subscribe("metrics", eventMetrics(metrics));
  stream.publish({ type: "probe-finished", report: reportOf() });
  stream.publish(down("down"));
  stream.publish({ type: "reload-refused", error: new Error("x"), problems: [] });
  const text = await metrics.registry.metrics();
  expect(text).toContain('livezone_probe_results_total{class="ok"} 1\n');
  expect(text).toMatch(/livezone_target_transitions_total\{zone="k8s.example.com",endpoint="api",.*to="down"\} 1\n/);
  expect(text).toContain("livezone_config_last_reload_success 0\n");
});

/** A good probe of `cp1`; `expiryMs` of its certificate. */
function reportOf(expiryMs?: number): ProbeReport {
  const certificate = expiryMs === undefined ? {} : { certificateExpiryMs: expiryMs, certificateNames: `DNS:${FQDN}` };
  const [endpoint] = config.zones[0]?.endpoints ?? [];
  if (endpoint === undefined) throw new Error("there is one");
  const result = { class: "ok", reason: "HTTP 200", durationMs: 1, ...certificate } as const;
  return { address: CP1.address, config: endpoint.probe, result, lagMs: 0, targets: [{ fqdn: FQDN, target: "cp1" }] };
}

test("a certificate that ends soon is told of once, and again when its target has come back", () => {
  const clock = createFakeClock();
  const stream = new ServerEvents(clock, pino({ level: "silent" }));
  const endpoints = new Map([[FQDN, served("healthy")]]);
  stream.subscribe("certificates", certificateWarnings(stream, { endpoints }));
  const warnings: number[] = [];
  stream.subscribe("test", {
    "certificate-warning": ({ warning }) => void (warning.kind === "expiry" && warnings.push(warning.days)),
  });
  const soon: ServerEvent = { type: "probe-finished", report: reportOf(clock.wallMs() + 20 * 86_400_000) };
  stream.publish(soon);
  stream.publish(soon);
  expect(warnings).toEqual([30]);
  stream.publish({ type: "zones-replaced", config });
  stream.publish(soon);
  expect(warnings).toEqual([30]);
  stream.publish({ type: "zones-replaced", config: { ...config, zones: [] } });
  stream.publish(soon);
  expect(warnings).toEqual([30, 30]);
});

test("what is watched is every address of every target", () => {
  expect([...watchedAddresses(config)]).toEqual([
    `${FQDN} cp1 192.0.2.11`,
    `${FQDN} cp2 192.0.2.12`,
    `${FQDN} cp2 2001:db8::12`,
  ]);
});
