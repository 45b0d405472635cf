import { describe, expect, test } from "vitest";
import type { ProbeConfig, SingleProbeConfig } from "../../src/config/config.js";
import { createTripwires, type TripwireEnd } from "../../src/health/tripwires.js";
import { createFakeClock } from "../support/fake-clock.js";

const CONFIG: ProbeConfig = {
  type: "tcp",
  port: 6443,
  intervalMs: 2000,
  timeoutMs: 2000,
  recheckMs: 1000,
  rise: 2,
  fall: 3,
};

function harness() {
  const clock = createFakeClock();
  const opened: { config: SingleProbeConfig; atMs: number; end: (how: TripwireEnd) => void; isClosed: boolean }[] = [];
  const trips: string[] = [];
  /** Set: how the next connection ends before it is even known how to close it. */
  let endsAtOnce: TripwireEnd | undefined;
  const tripwires = createTripwires(
    clock,
    (_address, config, onEnd) => {
      const wire = { config, atMs: clock.monotonicMs(), end: onEnd, isClosed: false };
      opened.push(wire);
      if (endsAtOnce !== undefined) onEnd(endsAtOnce);
      return () => {
        wire.isClosed = true;
      };
    },
    (key) => trips.push(key),
  );
  return {
    clock,
    tripwires,
    opened,
    trips,
    tend: () => tripwires.tend("key", "192.0.2.1", CONFIG),
    endAtOnce(how: TripwireEnd) {
      endsAtOnce = how;
    },
    /** Tends every second, as probes would, and gives the moments at which a connection was made. */
    async tendFor(seconds: number) {
      for (let second = 0; second < seconds; second += 1) {
        await clock.advance(1000);
        tripwires.tend("key", "192.0.2.1", CONFIG);
      }
    },
  };
}

describe("the tripwires of a list of probes", () => {
  const { intervalMs, timeoutMs, recheckMs, rise, fall } = CONFIG;
  const schedule = { intervalMs, timeoutMs, recheckMs, rise, fall };
  const tcp = (port: number) => ({ ...schedule, type: "tcp", port }) as const;
  const LIST: ProbeConfig = {
    ...schedule,
    type: "all",
    probes: [{ ...schedule, type: "exec", command: ["true"], port: 1 }, tcp(6443), tcp(9345)],
  };

  test("are one for each probe that connects, and each trips for the address", async () => {
    const { tripwires, opened, trips, clock } = harness();
    const tend = () => tripwires.tend("key", "192.0.2.1", LIST);
    tend();
    tend();
    expect(opened.map(({ config }) => "port" in config && config.port)).toEqual([6443, 9345]);
    expect(tripwires.open).toBe(2);
    opened[1]!.end("tripped");
    expect(trips).toEqual(["key"]);
    expect(tripwires.open).toBe(1);
    await clock.advance(1000);
    tend();
    expect(opened.map(({ config }) => "port" in config && config.port)).toEqual([6443, 9345, 9345]);
    opened[0]!.end("tripped");
    expect(trips).toEqual(["key", "key"]);
  });

  test("pause by themselves: one that never lasts leaves the other alone", async () => {
    const { tripwires, opened, clock } = harness();
    for (let second = 0; second < 20; second += 1) {
      tripwires.tend("key", "192.0.2.1", LIST);
      for (const { config, end } of opened) if ("port" in config && config.port === 9345) end("failed");
      await clock.advance(1000);
    }
    expect(opened.filter(({ config }) => "port" in config && config.port === 6443)).toHaveLength(1);
    expect(opened.filter(({ config }) => "port" in config && config.port === 9345)).toHaveLength(5);
    expect(tripwires.open).toBe(1);
  });

  test("are closed together", () => {
    const { tripwires, opened, trips } = harness();
    tripwires.tend("key", "192.0.2.1", LIST);
    tripwires.drop("key");
    expect(opened.map(({ isClosed }) => isClosed)).toEqual([true, true]);
    expect(tripwires.open).toBe(0);
    for (const { end } of opened) end("tripped");
    expect(trips).toEqual([]);
  });
});

describe("a tripwire", () => {
  test("is one connection, however often it is tended", async () => {
    const { opened, tripwires, tend, tendFor } = harness();
    tend();
    await tendFor(100);
    expect(opened).toHaveLength(1);
    expect(tripwires.open).toBe(1);
  });

  test("tells when it trips, once, and is opened again a second later", async () => {
    const { opened, trips, tripwires, tend, tendFor } = harness();
    tend();
    opened[0]!.end("tripped");
    opened[0]!.end("tripped");
    expect(trips).toEqual(["key"]);
    expect(tripwires.open).toBe(0);
    tend();
    expect(opened).toHaveLength(1);
    await tendFor(1);
    expect(opened).toHaveLength(2);
  });

  test("that cannot be opened says nothing", () => {
    const { opened, trips, tend } = harness();
    tend();
    opened[0]!.end("failed");
    expect(trips).toEqual([]);
  });

  test("is opened ever more rarely if it never lasts, at least every five minutes", async () => {
    const { opened, tend, tendFor, endAtOnce, trips } = harness();
    endAtOnce("tripped");
    tend();
    await tendFor(2000);
    const gaps = opened.slice(1).map(({ atMs }, index) => (atMs - opened[index]!.atMs) / 1000);
    expect(gaps.slice(0, 9)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256]);
    expect(Math.max(...gaps)).toBe(300);
    expect(trips).toHaveLength(opened.length);
  });

  test("that lasted as long as an apiserver keeps it idle is opened again at once", async () => {
    const { opened, tend, tendFor } = harness();
    tend();
    for (let round = 0; round < 5; round += 1) {
      await tendFor(90);
      opened.at(-1)!.end("tripped");
      await tendFor(1);
      expect(opened).toHaveLength(round + 2);
    }
  });

  test("is closed and silent once it is dropped", () => {
    const { opened, trips, tripwires, tend } = harness();
    tend();
    tripwires.drop("key");
    expect(opened[0]?.isClosed).toBe(true);
    expect(tripwires.open).toBe(0);
    opened[0]!.end("tripped");
    expect(trips).toEqual([]);
    tripwires.drop("key");
    tripwires.drop("never there");
    expect(tripwires.open).toBe(0);
  });

  test("of another address has its own life", () => {
    const { opened, tripwires, trips, tend } = harness();
    tend();
    tripwires.tend("other", "192.0.2.2", CONFIG);
    expect(tripwires.open).toBe(2);
    opened[1]!.end("tripped");
    expect(trips).toEqual(["other"]);
    expect(tripwires.open).toBe(1);
  });
});
