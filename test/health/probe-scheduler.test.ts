import { expect, test } from "vitest";
import type { MonitoredAddress } from "../../src/health/monitored-address.js";
import {
  CONNECT_PATIENCE_MS,
  type FinishedProbe,
  LAST_LOOK_MS,
  ProbeScheduler,
} from "../../src/health/probe-scheduler.js";
import { knownState } from "../../src/health/state.js";
import { createFakeClock } from "../support/fake-clock.js";
import { HTTPS } from "./monitor-harness.js";

/** A scheduler with one job, whose probe connects and ends after these times. */
function harness(connectsMs: number, tookMs: number) {
  const clock = createFakeClock();
  const finished: FinishedProbe[] = [];
  let unconnected = 0;
  const scheduler: ProbeScheduler = new ProbeScheduler({
    clock,
    random: () => 0.5,
    maxFirstProbes: 256,
    runProbe: (_target, _config, signal, onConnected) =>
      new Promise((resolve) => {
        const connect = clock.after(connectsMs, () => onConnected?.());
        const end = clock.after(tookMs, () => resolve({ class: "ok", reason: "ok", durationMs: tookMs }));
        signal?.addEventListener("abort", () => {
          connect.cancel();
          end.cancel();
        });
      }),
    onFinished(job, probe) {
      finished.push(probe);
      scheduler.arrange(job);
    },
    onUnconnected() {
      unconnected += 1;
    },
  });
  const job = scheduler.add("key", "192.0.2.1", HTTPS, false);
  const view = { fqdn: "api", target: "cp1", address: "192.0.2.1", health: "up" as const, sinceMs: 0 };
  const address: MonitoredAddress = {
    view,
    config: HTTPS,
    state: knownState("up"),
    dueMs: 0,
    isAwaited: false,
  };
  job.addresses.add(address);
  scheduler.start();
  return { clock, scheduler, job, finished, unconnected: () => unconnected };
}

test("a probe that has a connection in time is not taken for a network failure, however long it takes", async () => {
  const { clock, unconnected, finished } = harness(CONNECT_PATIENCE_MS - 1, 1900);
  await clock.advance(10_000);
  expect(finished.length).toBeGreaterThan(3);
  expect(unconnected()).toBe(0);
});

test("nor is one whose connection is told just after that time, as a busy process does", async () => {
  const { clock, unconnected } = harness(CONNECT_PATIENCE_MS + 1, 1900);
  await clock.advance(10_000);
  expect(unconnected()).toBe(0);
});

test("one that has none is, once", async () => {
  const { clock, unconnected } = harness(1800, 1900);
  await clock.advance(CONNECT_PATIENCE_MS + LAST_LOOK_MS);
  expect(unconnected()).toBe(1);
  await clock.advance(1000);
  expect(unconnected()).toBe(1);
});

test("a probe that takes longer than the interval is followed by the next at once, never by two", async () => {
  const { clock, finished } = harness(1, 3000);
  await clock.advance(30_000);
  finished.forEach(({ startedMs }, index) => {
    if (index > 0) expect(startedMs).toBeGreaterThanOrEqual(finished[index - 1]!.endedMs);
  });
  expect(finished.length).toBe(10);
});

test("what is stopped or discarded leaves no timer", async () => {
  const { clock, scheduler, job } = harness(1800, 1900);
  await clock.advance(100);
  scheduler.discard(job);
  expect(clock.pendingTimers).toBe(0);
  scheduler.stop();
  expect(scheduler.jobs.size).toBe(0);
});
