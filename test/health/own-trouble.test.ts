import { describe, expect, test } from "vitest";
import { advanceUntil } from "../support/fake-clock.js";
import { endpoints, HANG, HTTPS, monitorHarness, NO_ROUTE, OK, REFUSED } from "./monitor-harness.js";

const TWO = { api: ["cp1", "cp2"], other: ["x1", "x2"] };
const EVERY = ["cp1", "cp2", "x1", "x2"];

describe("a prober that is cut off", () => {
  async function started(targets: Record<string, string[]> = TWO) {
    const harness = monitorHarness();
    harness.monitor.configure(endpoints(targets));
    harness.monitor.start();
    await harness.advance(10_000);
    return harness;
  }

  test.each([
    ["nothing comes back", HANG],
    ["there is no route", NO_ROUTE],
  ])("holds the health of all when %s, however long", async (_name, behaviour) => {
    const { behave, advance, picture, monitor, isolations } = await started();
    behave(behaviour, ...EVERY);
    await advance(600_000);
    expect(picture()).toBe("cp1:up cp2:up x1:up x2:up");
    expect(monitor.isolated).toBe(true);
    expect(isolations).toEqual([true]);
  });

  test("finds all down where siblings know better than it whether it is cut off", async () => {
    const harness = monitorHarness({ knowsBetter: () => true });
    harness.monitor.configure(endpoints(TWO));
    harness.monitor.start();
    await harness.advance(10_000);
    harness.behave(HANG, ...EVERY);
    await harness.advance(2 * 2200 + 3 * 2000);
    expect(harness.picture()).toBe("cp1:down cp2:down x1:down x2:down");
    expect(harness.isolations).toEqual([]);
  });

  test("says so within two intervals and a timeout", async () => {
    const { behave, advance, monitor } = await started();
    behave(HANG, ...EVERY);
    await advance(2 * 2200 + 2000);
    expect(monitor.isolated).toBe(true);
  });

  test("withdraws nothing while the network comes back, one address after the other", async () => {
    const { behave, advance, picture, monitor, isolations, transitions } = await started();
    const before = transitions.length;
    behave(HANG, ...EVERY);
    await advance(60_000);
    for (const id of EVERY) {
      behave(OK, id);
      await advance(700);
    }
    await advance(10_000);
    expect(picture()).toBe("cp1:up cp2:up x1:up x2:up");
    expect(transitions).toHaveLength(before);
    expect(monitor.isolated).toBe(false);
    expect(isolations).toEqual([true, false]);
  });

  test("finds out afterwards who has failed meanwhile", async () => {
    const { behave, advance, picture } = await started();
    behave(HANG, ...EVERY);
    await advance(60_000);
    behave(OK, "cp1", "x1", "x2");
    await advance(2200 + 2200 + 4 * 2000);
    expect(picture()).toBe("cp1:up cp2:down x1:up x2:up");
  });

  test("does not flap with a network that comes and goes", async () => {
    const { behave, advance, picture, isolations } = await started();
    for (let round = 0; round < 30; round += 1) {
      behave(HANG, ...EVERY);
      await advance(9000);
      behave(OK, "cp1");
      await advance(1000);
    }
    expect(picture()).toBe("cp1:up cp2:up x1:up x2:up");
    expect(isolations).toEqual([true]);
  });

  test("is not presumed when only one endpoint fails", async () => {
    const { behave, advance, picture, isolations } = await started();
    behave(HANG, "cp1", "cp2");
    await advance(9000);
    expect(picture()).toBe("cp1:down cp2:down x1:up x2:up");
    expect(isolations).toEqual([]);
  });

  test("is not presumed when refusals arrive: the network works", async () => {
    const { behave, advance, picture, isolations } = await started();
    behave(HANG, "cp1", "cp2", "x1");
    behave(REFUSED, "x2");
    await advance(9000);
    expect(picture()).toBe("cp1:down cp2:down x1:down x2:down");
    expect(isolations).toEqual([]);
  });

  test("still withdraws what refuses meanwhile", async () => {
    const { behave, advance, picture } = await started();
    behave(HANG, ...EVERY);
    await advance(60_000);
    behave(REFUSED, "x2");
    await advance(2200 + 200 + 10);
    expect(picture()).toBe("cp1:up cp2:up x1:up x2:down");
  });

  test("is not presumed of a single address, which may have failed itself", async () => {
    const { behave, advance, picture, isolations } = await started({ api: ["cp1"] });
    behave(HANG, "cp1");
    await advance(9000);
    expect(picture()).toBe("cp1:down");
    expect(isolations).toEqual([]);
  });

  test("keeps even an impatient endpoint, which one failure would bring down", async () => {
    const { monitor, behave, advance, picture } = monitorHarness();
    monitor.configure(endpoints(TWO, { ...HTTPS, fall: 1 }));
    monitor.start();
    await advance(10_000);
    behave(HANG, ...EVERY);
    await advance(60_000);
    expect(picture()).toBe("cp1:up cp2:up x1:up x2:up");
  });

  test("does not delay an impatient endpoint whose neighbours answer", async () => {
    const { monitor, behave, advance, picture } = monitorHarness();
    monitor.configure(endpoints(TWO, { ...HTTPS, fall: 1 }));
    monitor.start();
    await advance(10_000);
    behave(HANG, "cp1");
    await advance(2200 + 2000 + 2000);
    expect(picture()).toBe("cp1:down cp2:up x1:up x2:up");
  });

  test("forgets an address that a reload removes", async () => {
    const { monitor, behave, advance } = await started();
    behave(HANG, "cp1", "cp2", "x1");
    await advance(60_000);
    expect(monitor.isolated).toBe(false);
    monitor.configure(endpoints({ api: ["cp1", "cp2"] }));
    await advance(10_000);
    expect(monitor.isolated).toBe(true);
  });

  test("leaves remembered health standing, from the very start", async () => {
    const { monitor, behave, advance, picture } = monitorHarness({
      recall: (_fqdn, target) => ({ health: target === "x2" ? "down" : "up", sinceMs: 7 }),
    });
    behave(HANG, ...EVERY);
    monitor.configure(endpoints(TWO));
    monitor.start();
    await advance(60_000);
    expect(picture()).toBe("cp1:up cp2:up x1:up x2:down");
    expect(monitor.isolated).toBe(true);
  });
});

describe("a process that does not get to run", () => {
  test("never brings a target down, however often its probes time out for it", async () => {
    const { monitor, behave, advance, standStill, picture, reports } = monitorHarness();
    monitor.configure(endpoints(TWO));
    monitor.start();
    await advance(10_000);
    for (let round = 0; round < 20; round += 1) {
      behave(HANG, "cp1");
      await advance(1000);
      standStill(1900);
      await advance(1000);
      behave(OK, "cp1");
      await advance(10);
    }
    expect(picture()).toBe("cp1:up cp2:up x1:up x2:up");
    expect(reports.some(({ ignored }) => ignored === "stalled")).toBe(true);
  });

  test("asks again at once after such a failure", async () => {
    const { monitor, behave, advance, standStill, probes, reports } = monitorHarness();
    monitor.configure(endpoints({ api: ["cp1"] }));
    monitor.start();
    await advance(10_000);
    behave(HANG, "cp1");
    await advance(2200);
    standStill(1500);
    const made = probes.length;
    behave(OK, "cp1");
    await advanceUntil(advance, () => reports.some(({ ignored }) => ignored === "stalled"));
    await advance(0);
    expect(probes.length).toBeGreaterThan(made);
    expect(monitor.snapshot().endpoints.get("api")?.targets[0]?.addresses[0]?.last?.class).toBe("ok");
  });

  test("believes a refusal all the same", async () => {
    const { monitor, behave, advance, standStill, picture } = monitorHarness();
    monitor.configure(endpoints({ api: ["cp1", "cp2"] }));
    monitor.start();
    await advance(10_000);
    behave(REFUSED, "cp1");
    for (let round = 0; round < 6; round += 1) {
      standStill(1000);
      await advance(500);
    }
    expect(picture()).toBe("cp1:down cp2:up");
  });

  test("counts afresh after a pause longer than the interval", async () => {
    const { monitor, behave, advance, standStill, picture, reports } = monitorHarness();
    monitor.configure(endpoints({ api: ["cp1", "cp2"] }));
    monitor.start();
    await advance(10_000);
    behave({ class: "reset", tookMs: 5 }, "cp1");
    const failures = () => reports.filter(({ address, result }) => address === "cp1-address" && result.class !== "ok");
    await advanceUntil(advance, () => failures().length >= 2);
    standStill(3_600_000);
    await advance(300);
    await advanceUntil(advance, () => failures().length >= 4);
    // Two before the pause and two after it are not three in a row.
    expect(picture()).toBe("cp1:up cp2:up");
    await advanceUntil(advance, () => failures().length >= 5);
    await advance(OK.tookMs);
    expect(picture()).toBe("cp1:down cp2:up");
  });

  test("tells how long it stood still", async () => {
    const stalls: number[] = [];
    const { monitor, advance, standStill } = monitorHarness({ onStall: (ms) => stalls.push(ms) });
    monitor.configure(endpoints({ api: ["cp1"] }));
    monitor.start();
    await advance(1000);
    standStill(5000);
    await advance(1000);
    expect(stalls).toEqual([5000]);
  });

  test("tells how late its probes were", async () => {
    const { monitor, advance, standStill, reports } = monitorHarness();
    monitor.configure(endpoints({ api: ["cp1"] }));
    monitor.start();
    await advance(10_000);
    standStill(5000);
    await advance(2500);
    expect(Math.max(...reports.map(({ lagMs }) => lagMs))).toBeGreaterThan(2500);
  });
});
