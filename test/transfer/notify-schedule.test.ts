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
    {
      name: "one that loads what it has transferred is notified when it has",
      changes: [0, 250],
      transfers: [10],
      until: 500,
      outcome: (nowMs) => (nowMs < 360 ? "loading" : nowMs < 450 ? "behind" : "current"),
      sent: ["N0", "C40", "C110", "C210", "C300", "C360", "N370"],
    },
    {
      name: "but it is not waited for without end",
      changes: [0, 250],
      transfers: [10],
      until: 1_720,
      outcome: (nowMs) => (nowMs < 1_600 ? "loading" : "current"),
      sent: "N0 C40 C110 C210 C300 C360 C510 C550 C660 C810 C960 C1110 C1250 C1310 N1510 C1510 N1710".split(" "),
    },
  ];
  test.each(CASES)("$name", ({ changes, transfers, until, outcome, sent }) => {
    expect(run(changes, until, outcome, transfers)).toEqual(sent);
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
