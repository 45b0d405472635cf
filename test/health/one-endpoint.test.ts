import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { MonitoredEndpoint } from "../../src/health/health-monitor.js";
import { endpoints, HANG, monitorHarness, REFUSED } from "./monitor-harness.js";

/* What is monitored changes one endpoint at a time: how discovery brings in the targets that it has found. */

/** One endpoint with these targets. */
const endpoint = (fqdn: string, ...ids: string[]) => endpoints({ [fqdn]: ids })[0] as MonitoredEndpoint;

type Harness = ReturnType<typeof monitorHarness>;

/** Moments at which an address was probed since `sinceMs`. */
const probedAt = ({ probes }: Harness, id: string, sinceMs = 0) =>
  probes
    .filter(({ address, startedMs }) => address === `${id}-address` && startedMs >= sinceMs)
    .map((one) => one.startedMs);

/** A monitor that has watched `api` with cp1 and cp2 for 10 s; cp2 refuses. */
async function running(): Promise<Harness> {
  const it = monitorHarness();
  it.behave(REFUSED, "cp2");
  it.monitor.configure(endpoints({ api: ["cp1", "cp2"] }));
  it.monitor.start();
  await it.advance(10_000);
  return it;
}

describe("one endpoint is configured", () => {
  test("beside another, which keeps its picture and its schedule", async () => {
    const [it, alone] = [await running(), await running()];
    const before = it.monitor.snapshot().endpoints.get("api");
    it.monitor.configureEndpoint(endpoint("other", "cp3"));
    expect(it.monitor.snapshot().endpoints.get("api")).toBe(before);
    expect(it.picture()).toBe("cp1:up cp2:down cp3:unknown");
    // The first result decides for an endpoint that is new.
    await it.advance(5);
    expect(it.picture()).toBe("cp1:up cp2:down cp3:up");
    await it.advance(1_995);
    await alone.advance(2_000);
    expect(probedAt(it, "cp1")).toEqual(probedAt(alone, "cp1"));
  });

  test("with other targets: what stays keeps its health, and what joins has to pass `rise` times", async () => {
    const it = await running();
    const stays = it.address("api", "cp2");
    it.monitor.configureEndpoint(endpoint("api", "cp2", "cp3"));
    expect(it.picture()).toBe("cp2:down cp3:unknown");
    expect(it.address("api", "cp2")).toEqual(stays);
    await it.advance(500);
    expect(it.picture()).toBe("cp2:down cp3:unknown");
    expect(it.address("api", "cp3")).toMatchObject({ isJoining: true });
    await it.advance(1_000);
    expect(it.picture()).toBe("cp2:down cp3:up");
    expect(it.address("api", "cp3")).not.toHaveProperty("isJoining");
  });

  test("without a target, whose probe and tripwire end at once", async () => {
    const it = await running();
    expect([...it.wires.keys()]).toEqual(["cp1-address"]);
    it.behave(HANG, "cp1");
    await it.advance(2_200);
    const reported = () => it.reports.filter(({ address }) => address === "cp1-address").length;
    const before = reported();
    it.monitor.configureEndpoint(endpoint("api", "cp2"));
    expect([...it.wires.keys()]).toEqual([]);
    const sinceMs = it.clock.monotonicMs();
    await it.advance(10_000);
    expect(reported()).toBe(before);
    expect(probedAt(it, "cp1", sinceMs)).toEqual([]);
  });

  test("before the start: the first round waits for it", async () => {
    const it = monitorHarness();
    let isOver = false;
    void it.monitor.firstRound.then(() => {
      isOver = true;
    });
    it.behave(HANG, "cp2");
    it.monitor.configure(endpoints({ api: ["cp1"] }));
    it.monitor.configureEndpoint(endpoint("other", "cp2"));
    it.monitor.start();
    await it.advance(1_999);
    expect(isOver).toBe(false);
    await it.advance(1);
    expect(isOver).toBe(true);
  });
});

describe("one endpoint is removed", () => {
  test("with its probes, tripwires and timers, and reports nothing more", async () => {
    const it = await running();
    it.monitor.configureEndpoint(endpoint("other", "cp3"));
    await it.advance(5_000);
    const before = it.transitions.length;
    it.monitor.removeEndpoint("other");
    const sinceMs = it.clock.monotonicMs();
    expect([...it.monitor.snapshot().endpoints.keys()]).toEqual(["api"]);
    expect([...it.wires.keys()]).toEqual(["cp1-address"]);
    it.behave(REFUSED, "cp3");
    await it.advance(10_000);
    expect(probedAt(it, "cp3", sinceMs)).toEqual([]);
    expect(probedAt(it, "cp1", sinceMs).length).toBeGreaterThan(3);
    expect(it.transitions.slice(before)).toEqual([]);
  });

  test("and what it shares with another is probed on for that one", async () => {
    const it = await running();
    it.monitor.configureEndpoint(endpoint("other", "cp1"));
    await it.advance(5);
    it.monitor.removeEndpoint("api");
    const sinceMs = it.clock.monotonicMs();
    await it.advance(10_000);
    expect(probedAt(it, "cp1", sinceMs).length).toBeGreaterThan(3);
    expect(probedAt(it, "cp2", sinceMs)).toEqual([]);
    expect([...it.wires.keys()]).toEqual(["cp1-address"]);
  });

  test("and starts afresh when it comes back", async () => {
    const it = await running();
    it.monitor.removeEndpoint("api");
    it.monitor.configureEndpoint(endpoint("api", "cp1", "cp2"));
    expect(it.picture()).toBe("cp1:unknown cp2:unknown");
    await it.advance(5);
    expect(it.picture()).toBe("cp1:up cp2:down");
  });

  test("and the first round waits for it no longer", async () => {
    const it = monitorHarness();
    let isOver = false;
    void it.monitor.firstRound.then(() => {
      isOver = true;
    });
    it.behave(HANG, "cp2");
    it.monitor.configure(endpoints({ api: ["cp1"], other: ["cp2"] }));
    it.monitor.start();
    await it.advance(100);
    expect(isOver).toBe(false);
    it.monitor.removeEndpoint("other");
    await it.advance(0);
    expect(isOver).toBe(true);
  });

  test("or was never there: nothing changes", async () => {
    const it = await running();
    const before = it.monitor.snapshot();
    it.monitor.removeEndpoint("other");
    expect(it.monitor.snapshot()).toEqual(before);
  });
});

test("one by one leads to what is configured at once, in any order of changes", async () => {
  const change = fc.record({
    fqdn: fc.constantFrom("one", "two", "three"),
    ids: fc.option(fc.uniqueArray(fc.constantFrom("cp1", "cp2", "cp3", "cp4"), { minLength: 1 })),
  });
  const seen = ({ monitor }: Harness) =>
    [...monitor.snapshot().endpoints.values()].map(({ fqdn, targets }) => [
      fqdn,
      targets.map(({ id, addresses }) => `${id}:${addresses[0]?.health}`).join(" "),
    ]);
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 8 }), async (changes) => {
      const [single, whole] = [monitorHarness(), monitorHarness()];
      const wanted = new Map<string, MonitoredEndpoint>();
      for (const it of [single, whole]) {
        it.behave(REFUSED, "cp2", "cp4");
        it.monitor.start();
      }
      for (const { fqdn, ids } of changes) {
        if (ids === null) {
          wanted.delete(fqdn);
          single.monitor.removeEndpoint(fqdn);
        } else {
          const one = endpoint(fqdn, ...ids);
          wanted.set(fqdn, one);
          single.monitor.configureEndpoint(one);
        }
        whole.monitor.configure([...wanted.values()]);
        expect(seen(single)).toEqual(seen(whole));
        for (const it of [single, whole]) await it.advance(10_000);
        expect(seen(single)).toEqual(seen(whole));
      }
      expect(seen(single).map(([fqdn]) => fqdn)).toEqual([...wanted.keys()]);
      for (const it of [single, whole]) it.monitor.stop();
      expect(single.pendingTimers()).toBe(0);
    }),
    { numRuns: 40 },
  );
});
