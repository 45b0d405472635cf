import { describe, expect, test } from "vitest";
import { type ClientFigures, labModule, type Observed, type Told, type View } from "./modules.js";

const { clientFigures, falseWithdrawals, withdrawalTimes } = await labModule<{
  clientFigures(
    events: readonly Told[],
    total: number,
    times: { faultAt: number; beganAt?: number; endAt?: number },
  ): ClientFigures;
  falseWithdrawals(changes: readonly View[], round: Observed): number;
  withdrawalTimes(changes: readonly View[], faultAt: number, victim: string): number[];
}>("figures");

describe("what a client saw of a fault at 10,000 ms", () => {
  const cases: readonly { name: string; events: readonly Told[]; expected: Partial<ClientFigures> }[] = [
    { name: "nothing", events: [], expected: { last: 0, failed: 0, slowed: 0, before: 0 } },
    {
      name: "the last bad request counts from its start",
      events: [
        { at: 10_500, took: 5_000, error: "timeout" },
        { at: 12_340, took: 1_700 },
        { at: 11_000, took: 20, error: "refused" },
      ],
      expected: { last: 2.34, failed: 2, slowed: 1 },
    },
    {
      name: "one that was under way when it came",
      events: [{ at: 9_900, took: 110, error: "reset" }],
      expected: { last: 0, failed: 1, before: 0 },
    },
    {
      name: "one long before it speaks of something else",
      events: [{ at: 9_000, took: 1_500 }],
      expected: { last: 0, failed: 0, slowed: 0, before: 1 },
    },
    {
      name: "an answer of a target that was not ready is not bad",
      events: [{ at: 13_000, took: 5, unready: "cp2" }],
      expected: { last: 0, failed: 0, slowed: 0, unready: 1 },
    },
  ];

  test("what goes wrong in a prelude is not held against the round", () => {
    const events = [{ at: 6_000, took: 20, error: "refused" }];
    expect(clientFigures(events, 1, { faultAt: 10_000, beganAt: 5_000 })).toMatchObject({ before: 0, failed: 0 });
    expect(clientFigures(events, 1, { faultAt: 10_000 })).toMatchObject({ before: 1, failed: 0 });
  });

  test("a client in trouble at the end of the round is told from one that is over it", () => {
    const events = [{ at: 20_000, took: 20, error: "refused" }];
    expect(clientFigures(events, 1, { faultAt: 10_000, endAt: 22_000 })).toMatchObject({ isOpen: true });
    expect(clientFigures(events, 1, { faultAt: 10_000, endAt: 27_000 })).toMatchObject({ isOpen: false });
  });

  test.each(cases)("$name", ({ events, expected }) => {
    expect(clientFigures(events, 50, { faultAt: 10_000 })).toMatchObject({ ...expected, total: 50 });
  });
});

describe("false withdrawals", () => {
  const all = ["a", "b", "c"];
  const view = (at: number, ...addresses: string[]): View => ({ at, server: "ns1", addresses });
  const observed = { from: 100, to: 200, all, victim: "b" } as const;
  const cases: readonly { name: string; mayMiss: Observed["mayMiss"]; views: readonly View[]; count: number }[] = [
    { name: "the victim may be missing", mayMiss: "victim", views: [view(0, ...all), view(120, "a", "c")], count: 0 },
    { name: "another may not", mayMiss: "victim", views: [view(0, ...all), view(120, "a")], count: 1 },
    { name: "it counts once while it lasts", mayMiss: "none", views: [view(110, "a"), view(120, "a")], count: 2 },
    {
      name: "... and again when it comes again",
      mayMiss: "none",
      views: [view(110, "a", "b"), view(120, ...all), view(130, "a", "b")],
      count: 2,
    },
    {
      name: "before and after the round it does not count",
      mayMiss: "none",
      views: [view(50, "a"), view(60, ...all), view(250, "b")],
      count: 0,
    },
    {
      name: "one at a time may be missing",
      mayMiss: "one",
      views: [view(110, "a", "b"), view(120, "b", "c")],
      count: 0,
    },
    { name: "two may not", mayMiss: "one", views: [view(110, "a")], count: 1 },
    { name: "all may", mayMiss: "all", views: [view(110)], count: 0 },
  ];
  test.each(cases)("$name", ({ mayMiss, views, count }) => {
    expect(falseWithdrawals(views, { ...observed, mayMiss })).toBe(count);
  });

  test("the times of those that are right count from the fault, once for each name server", () => {
    const at = (ms: number, server: string, ...addresses: string[]): View => ({ at: ms, server, addresses });
    const changes = [
      at(50, "ns1", "a"),
      at(60, "ns1", ...all),
      at(400, "ns1", "a", "c"),
      at(900, "ns2", "a", "c"),
      at(950, "ns1", "a"),
    ];
    expect(withdrawalTimes(changes, 100, "b")).toEqual([0.3, 0.8]);
  });

  test("are counted for each name server", () => {
    const views = ["ns1", "ns2"].map((server) => ({ at: 150, server, addresses: ["a", "b"] }));
    expect(falseWithdrawals(views, { ...observed, mayMiss: "none" })).toBe(2);
  });
});
