import { describe, expect, test } from "vitest";
import { decideAnswerable } from "../../src/health/answerable.js";
import { advanceUntil } from "../support/fake-clock.js";
import { endpoints, HANG, HTTPS, monitorHarness, OK, REFUSED } from "./monitor-harness.js";

describe("a tripwire that breaks", () => {
  async function started(probe = HTTPS) {
    const harness = monitorHarness();
    harness.monitor.configure(endpoints({ api: ["cp1", "cp2"] }, probe));
    harness.monitor.start();
    await harness.advance(10_000);
    return harness;
  }

  test("makes a probe run 20 ms later, and a dead target is withdrawn 200 ms and a probe of the other after that", async () => {
    const { behave, advance, clock, trip, picture, transitions } = await started();
    behave(REFUSED, "cp1");
    const diedMs = clock.monotonicMs();
    trip("cp1");
    await advance(1000);
    expect(picture()).toBe("cp1:down cp2:up");
    expect(transitions.at(-1)!.atMs - diedMs).toBeLessThanOrEqual(20 + 1 + 200 + 1 + OK.tookMs);
  });

  test("changes nothing if the target is well: a server closes what is idle", async () => {
    const { advance, trip, transitions, wires } = await started();
    const before = transitions.length;
    for (let round = 0; round < 5; round += 1) {
      trip("cp1");
      await advance(90_000);
      expect(wires.has("cp1-address")).toBe(true);
    }
    expect(transitions).toHaveLength(before);
  });

  test("while a probe is under way makes another one follow, since that may have looked too early", async () => {
    const { behave, advance, trip, probes, picture } = await started();
    behave({ class: "ok", tookMs: 1000 }, "cp1");
    const made = () => probes.filter(({ address }) => address === "cp1-address").length;
    const before = made();
    await advanceUntil(advance, () => made() > before);
    trip("cp1");
    behave(REFUSED, "cp1");
    await advance(1000 + 1 + 200 + 10);
    expect(picture()).toBe("cp1:down cp2:up");
  });

  test("never keeps a target up that hangs", async () => {
    const { behave, advance, picture, wires } = await started();
    behave(HANG, "cp1");
    expect(wires.has("cp1-address")).toBe(true);
    await advance(8500);
    expect(picture()).toBe("cp1:down cp2:up");
  });

  test("is not set up for a target that is down, nor where none is wanted", async () => {
    const { behave, advance, trip, wires, monitor } = await started();
    behave(REFUSED, "cp1");
    trip("cp1");
    await advance(30_000);
    expect(wires.has("cp1-address")).toBe(false);
    expect(monitor.tripwires).toBe(1);
    const without = await started({ ...HTTPS, tripwire: false });
    expect(without.monitor.tripwires).toBe(0);
  });

  test("is one for endpoints that share a probe, as long as one of them wants it", async () => {
    const { monitor, advance, wires } = monitorHarness();
    const [api] = endpoints({ api: ["cp1"] });
    const [alias] = endpoints({ alias: ["cp1"] }, { ...HTTPS, tripwire: false });
    monitor.configure([alias!, api!]);
    monitor.start();
    await advance(10_000);
    expect(monitor.tripwires).toBe(1);
    monitor.configure([]);
    expect(monitor.tripwires).toBe(0);
    expect(wires.size).toBe(0);
  });

  test("is closed with the monitor, and means nothing afterwards", async () => {
    const { monitor, advance, wires, trip, probes, pendingTimers } = await started();
    const end = wires.get("cp1-address");
    monitor.stop();
    expect(monitor.tripwires).toBe(0);
    const made = probes.length;
    end?.("tripped");
    trip("cp1");
    await advance(10_000);
    expect(probes).toHaveLength(made);
    expect(pendingTimers()).toBe(0);
  });
});

describe("a target that flaps", () => {
  /** Fails and returns until it is held. */
  async function held() {
    const harness = monitorHarness();
    const { monitor, behave, advance, address } = harness;
    monitor.configure(endpoints({ api: ["cp1", "cp2"] }));
    monitor.start();
    await advance(10_000);
    for (let round = 0; round < 4; round += 1) {
      behave(REFUSED, "cp1");
      await advance(5000);
      behave(OK, "cp1");
      await advance(5000);
    }
    expect(address("api", "cp1")?.health).toBe("down");
    return harness;
  }

  test("is held down although it passes, for all to see", async () => {
    const { address, clock, holds } = await held();
    const { held: hold, last } = address("api", "cp1") ?? {};
    expect(last?.class).toBe("ok");
    expect(hold?.changes).toBe(7);
    expect((hold?.untilMs ?? 0) - clock.wallMs()).toBeGreaterThan(20_000);
    expect(holds).toEqual(["api"]);
  });

  test("returns by itself when it has passed long enough", async () => {
    const { advance, picture, address } = await held();
    await advance(35_000);
    expect(picture()).toBe("cp1:up cp2:up");
    expect(address("api", "cp1")?.held).toBeUndefined();
  });

  test("returns at once when an operator forgives it", async () => {
    const { monitor, advance, picture } = await held();
    expect(monitor.clearFlaps("api", "cp1")).toBe(true);
    await advance(10);
    expect(picture()).toBe("cp1:up cp2:up");
    expect(monitor.clearFlaps("api", "nobody")).toBe(false);
  });

  test("is answered all the same when nothing better is left", async () => {
    const { monitor, behave, advance, holds } = await held();
    const answers = () => {
      const health = monitor.snapshot().endpoints.get("api")!;
      return decideAnswerable(health, { whenAllDown: { kind: "all" }, minHealthy: 1 });
    };
    expect(answers()).toMatchObject({ mode: "healthy", addresses: [{ target: "cp2" }] });
    behave(REFUSED, "cp2");
    await advance(3000);
    expect(answers()).toMatchObject({ mode: "healthy", addresses: [{ target: "cp1" }] });
    behave(REFUSED, "cp1");
    await advance(3000);
    expect(answers()).toMatchObject({ mode: "fail-open", addresses: [{ target: "cp1" }, { target: "cp2" }] });
    expect(holds).toEqual(["api", "api"]);
  });
});

describe("what is remembered", () => {
  test("serves from the start, and is not waited for", async () => {
    const { monitor, picture, address } = monitorHarness({
      recall: (fqdn, target) =>
        fqdn === "api" && target === "cp1"
          ? { health: "down", sinceMs: 77, last: { class: "refused", reason: "refused", durationMs: 1 } }
          : { health: "up", sinceMs: 78 },
    });
    monitor.configure(endpoints({ api: ["cp1", "cp2"] }));
    expect(picture()).toBe("cp1:down cp2:up");
    expect(address("api", "cp1")).toMatchObject({ sinceMs: 77, last: { class: "refused" } });
    monitor.start();
    await monitor.firstRound;
  });

  test("is verified at once, by the same thresholds as ever", async () => {
    const { monitor, behave, advance, picture, probes } = monitorHarness({
      recall: () => ({ health: "up", sinceMs: 77 }),
    });
    behave(REFUSED, "cp1");
    monitor.configure(endpoints({ api: ["cp1", "cp2"] }));
    monitor.start();
    await advance(10);
    expect(probes).toMatchObject([{ startedMs: 0 }, { startedMs: 0 }]);
    expect(picture()).toBe("cp1:up cp2:up");
    await advance(200);
    expect(picture()).toBe("cp1:down cp2:up");
  });

  test("is not asked of what joins later", async () => {
    const { monitor, advance, picture, address } = monitorHarness({ recall: () => ({ health: "up", sinceMs: 77 }) });
    monitor.configure(endpoints({ api: ["cp1"] }));
    monitor.start();
    await advance(10_000);
    monitor.configure(endpoints({ api: ["cp1", "cp2"] }));
    expect(picture()).toBe("cp1:up cp2:unknown");
    expect(address("api", "cp2")?.isJoining).toBe(true);
    await advance(2000);
    expect(picture()).toBe("cp1:up cp2:up");
    expect(address("api", "cp2")?.isJoining).toBeUndefined();
  });
});

describe("an override", () => {
  test("is in the picture at once, and is left alone by probes and reloads", async () => {
    const { monitor, setOverride, advance, transitions } = monitorHarness();
    monitor.configure(endpoints({ api: ["cp1", "cp2"] }));
    monitor.start();
    await advance(10_000);
    const before = monitor.snapshot();
    const override = { kind: "drained", origin: "operator", setAtMs: 1, reason: "kernel" } as const;
    setOverride("api", "cp1", override);
    const after = monitor.snapshot().endpoints.get("api");
    expect(after?.targets[0]?.override).toEqual(override);
    expect(after?.targets[1]).toBe(before.endpoints.get("api")?.targets[1]);
    expect(before.endpoints.get("api")?.targets[0]?.override).toBeUndefined();
    await advance(10_000);
    monitor.configure(endpoints({ api: ["cp1"] }));
    expect(monitor.snapshot().endpoints.get("api")?.targets[0]?.override).toEqual(override);
    setOverride("api", "cp1", undefined);
    expect(monitor.snapshot().endpoints.get("api")?.targets[0]).not.toHaveProperty("override");
    expect(transitions).toHaveLength(2);
  });

  test("of a target that is not there waits for it", () => {
    const { monitor, setOverride } = monitorHarness();
    setOverride("api", "cp1", { kind: "forced-down", origin: "operator", setAtMs: 1 });
    monitor.configure(endpoints({ api: ["cp1"] }));
    expect(monitor.snapshot().endpoints.get("api")?.targets[0]?.override?.kind).toBe("forced-down");
  });
});

describe("a certificate that is fit for the probe only", () => {
  const names = "DNS:cp.internal, DNS:*.k8s.example.com, IP Address:192.0.2.1";
  async function reasonFor(fqdn: string, serverName: string) {
    const { monitor, behave, advance, address } = monitorHarness();
    behave({ ...OK, names }, "cp1");
    monitor.configure(endpoints({ [fqdn]: ["cp1"] }, { ...HTTPS, serverName } as typeof HTTPS));
    monitor.start();
    await advance(10_000);
    expect(address(fqdn, "cp1")?.health).toBe("up");
    return address(fqdn, "cp1")?.last?.reason;
  }

  test("is told of in the reason", async () => {
    expect(await reasonFor("api.example.com", "cp.internal")).toBe("ok; the certificate is not for api.example.com");
  });

  test.each([
    ["the endpoint's name is covered as well", "api.k8s.example.com", "cp.internal"],
    ["the probe verifies the endpoint's name itself", "cp.internal", "cp.internal"],
  ])("is not told of when %s", async (_name, fqdn, serverName) => {
    expect(await reasonFor(fqdn, serverName)).toBe("ok");
  });
});

describe("an overload that takes two of three targets", () => {
  // Under load two answer in 3 s, which is past the timeout; the third would get all the traffic next.
  async function answersUnderLoad(minHealthy: number) {
    const { monitor, behave, advance } = monitorHarness();
    monitor.configure(endpoints({ api: ["cp1", "cp2", "cp3"] }));
    monitor.start();
    await advance(10_000);
    behave({ class: "timeout", tookMs: 2000 }, "cp1", "cp2");
    await advance(9000);
    const health = monitor.snapshot().endpoints.get("api")!;
    const { mode, addresses } = decideAnswerable(health, { whenAllDown: { kind: "all" }, minHealthy });
    return `${mode}: ${addresses.map(({ target }) => target).join(" ")}`;
  }

  test("leaves the third alone with minHealthy 1, which is the cascade", async () => {
    expect(await answersUnderLoad(1)).toBe("healthy: cp3");
  });

  test("keeps all three with minHealthy 2", async () => {
    expect(await answersUnderLoad(2)).toBe("fail-open: cp1 cp2 cp3");
  });
});
