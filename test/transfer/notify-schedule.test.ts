import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CheckOutcome, NotifySchedule } from "../../src/transfer/notify-schedule.js";

/** What is sent until `untilMs`: `N` and `C` with their moment; each check ends 10 ms later with what `outcome` says. */
function run(
  changesMs: readonly number[],
  untilMs: number,
  outcome: (nowMs: number) => CheckOutcome,
  transfersMs: readonly number[] = [],
): string[] {
  const schedule = new NotifySchedule(200);
  const sent: string[] = [];
  const answers: number[] = [];
  for (let nowMs = 0; nowMs <= untilMs; nowMs += 10) {
    if (answers[0] === nowMs) {
      answers.shift();
      schedule.checked(nowMs, outcome(nowMs));
    }
    if (changesMs.includes(nowMs)) schedule.changed(nowMs);
    if (transfersMs.includes(nowMs)) schedule.transferred(nowMs);
    if (schedule.dueMs > nowMs) continue;
    const { notify, check } = schedule.take(nowMs);
    if (notify) sent.push(`N${nowMs}`);
    if (!check) continue;
    sent.push(`C${nowMs}`);
    answers.push(nowMs + 10);
  }
  return sent;
}

describe("messages to a secondary", () => {
  const CASES: readonly {
    readonly name: string;
    readonly changes: readonly number[];
    readonly transfers?: readonly number[];
    readonly until: number;
    readonly outcome: (nowMs: number) => CheckOutcome;
    readonly sent: readonly string[];
  }[] = [
    {
      name: "one that follows is notified once, checked, and checked every 30 s",
      changes: [0],
      until: 61_000,
      outcome: () => "current",
      sent: ["N0", "C300", "C30310", "C60320"],
    },
    {
      name: "one that stays behind is notified again after each check",
      changes: [0],
      until: 41_000,
      outcome: () => "behind",
      sent: "N0 C300 N310 C1000 N1010 C3000 N3010 C10000 N10010 C40000 N40010".split(" "),
    },
    {
      name: "so is one that does not answer",
      changes: [0],
      until: 2_000,
      outcome: () => "unknown",
      sent: ["N0", "C300", "N310", "C1000", "N1010"],
    },
    {
      name: "further changes within the least interval wait, and are told as one",
      changes: [0, 50, 100, 150],
      until: 1_000,
      outcome: () => "current",
      sent: ["N0", "N200", "C300"],
    },
    {
      name: "a change later is told at once, and a check that is due earlier stays",
      changes: [0, 250],
      until: 600,
      outcome: (nowMs) => (nowMs < 500 ? "behind" : "current"),
      sent: ["N0", "N250", "C300", "N450", "C550"],
    },
    {
      name: "one that was right and falls silent is looked after as after a change",
      changes: [0],
      until: 31_500,
      outcome: (nowMs) => (nowMs < 1_000 ? "current" : "unknown"),
      sent: ["N0", "C300", "C30310", "N30320", "C30620", "N30630", "C31320", "N31330"],
    },
    {
      name: "one that has transferred the zone is asked soon, and then is known to be current",
      changes: [0],
      transfers: [10],
      until: 1_000,
      outcome: () => "current",
      sent: ["N0", "C40"],
    },
  ];
  test.each(CASES)("$name", ({ changes, transfers, until, outcome, sent }) => {
    expect(run(changes, until, outcome, transfers)).toEqual(sent);
  });
});

describe("NOTIFYs to a secondary that loads what it has transferred", () => {
  const CASES = [
    { name: "wait until it has", loadedMs: 400, sent: ["N0", "N420"] },
    { name: "do not wait without end", loadedMs: 1_600, sent: ["N0", "N1510", "N1710"] },
  ];
  test.each(CASES)("$name", ({ loadedMs, sent }) => {
    const outcome = (nowMs: number): CheckOutcome =>
      nowMs < loadedMs ? "loading" : nowMs < 500 ? "behind" : "current";
    const all = run([0, 250], 1_720, outcome, [10]);
    expect(all.filter((one) => one.startsWith("N"))).toEqual(sent);
  });

  /** Loads what it takes at once, but a second after the last time at the earliest, as NSD does. Moments of the newest change that it has. */
  class LoadsAtIntervals {
    takenMs = 0;
    answeredMs = 0;
    takenWhileLoading = 0;
    private loadsAtMs = Number.POSITIVE_INFINITY;
    private lastLoadMs = -1_000;

    take(nowMs: number): void {
      if (this.loadsAtMs < Number.POSITIVE_INFINITY) this.takenWhileLoading += 1;
      this.takenMs = nowMs;
      this.loadsAtMs = Math.max(nowMs + 20, this.lastLoadMs + 1_000);
    }

    load(nowMs: number): void {
      if (nowMs < this.loadsAtMs) return;
      this.answeredMs = this.takenMs;
      this.loadsAtMs = Number.POSITIVE_INFINITY;
      this.lastLoadMs = nowMs;
    }
  }

  /** A change every 50 ms. @returns how far the server is behind, every 10 ms */
  function changedWithoutPause(server: LoadsAtIntervals, untilMs: number): number[] {
    const schedule = new NotifySchedule(200);
    const lagsMs: number[] = [];
    let checkedMs = Number.POSITIVE_INFINITY;
    for (let nowMs = 0; nowMs <= untilMs; nowMs += 10) {
      server.load(nowMs);
      if (nowMs === checkedMs) schedule.checked(nowMs, server.answeredMs < server.takenMs ? "loading" : "behind");
      if (nowMs % 50 === 0) schedule.changed(nowMs);
      lagsMs.push(nowMs - server.answeredMs);
      const { notify, check } = schedule.take(nowMs);
      if (check) checkedMs = nowMs + 10;
      if (!notify) continue;
      server.take(nowMs);
      schedule.transferred(nowMs);
    }
    return lagsMs;
  }

  test("reach one that loads at intervals when its next turn has come, so that it takes nothing while it loads", () => {
    const server = new LoadsAtIntervals();
    const lagsMs = changedWithoutPause(server, 60_000);
    expect(server.takenWhileLoading).toBe(0);
    // Before that is known of it, a change waits for two turns; then for one.
    expect(Math.max(...lagsMs)).toBeLessThan(2_200);
    expect(Math.max(...lagsMs.slice(600))).toBeLessThan(1_200);
  });
});

test("whatever happens, NOTIFYs keep their distance, and one that is behind hears of it within 30 s of the last", () => {
  const outcomes = fc.constantFrom<CheckOutcome>("current", "behind", "loading", "unknown");
  const moments = fc.array(fc.integer({ min: 0, max: 500 }).map((n) => n * 10));
  fc.assert(
    fc.property(moments, moments, fc.array(outcomes, { minLength: 1 }), (changes, transfers, list) => {
      let asked = 0;
      const sent = run([0, ...changes], 60_000, () => list[asked++ % list.length] ?? "current", transfers);
      const times = sent.filter((one) => one.startsWith("N")).map((one) => Number(one.slice(1)));
      for (const [index, atMs] of times.entries()) {
        if (index > 0) expect(atMs - (times[index - 1] ?? 0)).toBeGreaterThanOrEqual(200);
      }
      const checks = sent.filter((one) => one.startsWith("C")).map((one) => Number(one.slice(1)));
      for (const [index, atMs] of checks.entries()) expect(atMs - (checks[index - 1] ?? 0)).toBeLessThanOrEqual(30_020);
    }),
    { seed: 1996 },
  );
});
