import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { presentRecords, presentSoa, ZoneJournal } from "../../src/transfer/journal.js";
import type { LiveZone } from "../../src/zone/live-zone.js";
import { answerWith, apply, configured, line, liveZone, steps } from "./zones.js";

const UNLIMITED = { versions: 1_000, changes: 100_000 };

function records(live: LiveZone): string[] {
  return [presentSoa(live), ...presentRecords(live)].map(line).sort();
}

describe("the difference to an old state", () => {
  test("is one step, however many changes there were; what came back is not in it", () => {
    const live = liveZone();
    const journal = new ZoneJournal(live, UNLIMITED);
    const { serial } = live;
    for (const up of [["cp1"], ["cp1", "cp2"], ["cp2"], ["cp1", "cp2", "cp4"]]) {
      const change = answerWith(live, up);
      if (change !== undefined) journal.record(change);
    }
    const difference = journal.difference(serial);
    expect(difference?.deleted.map(line)).toEqual([
      "api.k8s.example.test. 5 A 192.0.2.13",
      "api.k8s.example.test. 5 AAAA 2001:db8::13",
      "cp3.api.k8s.example.test. 5 A 192.0.2.13",
      "cp3.api.k8s.example.test. 5 AAAA 2001:db8::13",
      "_https._tcp.api.k8s.example.test. 5 SRV 0 1 6443 cp3.api.k8s.example.test.",
    ]);
    expect(difference?.added).toEqual([]);
    expect(line(difference?.soaBefore ?? presentSoa(live))).toContain(` ${serial} `);
    expect(line(difference?.soaAfter ?? presentSoa(live, 0))).toContain(` ${serial + 4} `);
  });

  test("of another order alone is none but the serial", () => {
    const live = liveZone();
    const journal = new ZoneJournal(live, UNLIMITED);
    const change = answerWith(live, ["cp4", "cp3", "cp2", "cp1"]);
    if (change !== undefined) journal.record(change);
    expect(journal.difference(change?.serialBefore ?? 0)).toMatchObject({ deleted: [], added: [] });
  });

  test("of the SOA alone names the old timers", () => {
    const live = liveZone();
    const journal = new ZoneJournal(live, UNLIMITED);
    const change = live.replace(configured("", 60), new Map(), 0);
    if (change !== undefined) journal.record(change);
    const difference = journal.difference(change?.serialBefore ?? 0);
    expect(difference && line(difference.soaBefore)).toContain(" 7200 900 ");
    expect(difference && line(difference.soaAfter)).toContain(" 60 900 ");
  });

  test("is not known for a state that is not kept, for the present one, or for one to come", () => {
    const live = liveZone();
    const journal = new ZoneJournal(live, { versions: 2, changes: 100 });
    const first = live.serial;
    for (const up of [["cp1"], ["cp2"], ["cp3"]]) {
      const change = answerWith(live, up);
      if (change !== undefined) journal.record(change);
    }
    const known = [first - 1, first, first + 1, first + 2, first + 3, first + 4].map(
      (serial) => journal.difference(serial) !== undefined,
    );
    expect(known).toEqual([false, false, true, true, false, false]);
  });

  test("is bounded by changes as well as by versions", () => {
    const live = liveZone();
    const journal = new ZoneJournal(live, { versions: 1_000, changes: 12 });
    for (let i = 0; i < 50; i += 1) {
      const change = answerWith(live, i % 2 === 0 ? ["cp1"] : ["cp2"]);
      if (change !== undefined) journal.record(change);
    }
    expect(journal.size).toBe(3);
    journal.setLimits({ versions: 1, changes: 12 });
    expect(journal.size).toBe(1);
  });
});

test("applied to any old state it gives the present one", () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 12 }), (all) => {
      const live = liveZone();
      const journal = new ZoneJournal(live, UNLIMITED);
      const states = new Map([[live.serial, records(live)]]);
      for (const step of all) {
        const change = apply(live, step);
        if (change !== undefined) journal.record(change);
        states.set(live.serial, records(live));
      }
      for (const [serial, state] of states) {
        if (serial === live.serial) continue;
        const difference = journal.difference(serial);
        if (difference === undefined) throw new Error(`no difference from ${serial}`);
        const { soaBefore, soaAfter, deleted, added } = difference;
        const gone = [soaBefore, ...deleted].map(line);
        // What is deleted is there, each once; what is added is not.
        for (const one of gone) expect(state.filter((other) => other === one)).toHaveLength(1);
        const left = state.filter((one) => !gone.includes(one));
        for (const one of added.map(line)) expect(left).not.toContain(one);
        expect([...left, ...[soaAfter, ...added].map(line)].sort()).toEqual(records(live));
      }
    }),
    { seed: 15, numRuns: 200 },
  );
});
