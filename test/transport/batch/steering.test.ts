import { expect, test } from "vitest";
import { leaveSteps, orderAfterLeaving } from "../../../src/transport/batch/steering.js";

test.each([
  { old: 1, young: 1, steps: ["close 0, from 1+1 to 0+1"] },
  { old: 1, young: 3, steps: ["close 0, from 1+2 to 0+3"] },
  { old: 3, young: 2, steps: ["close 2, from 3+1 to 2+2", "close 1, from 2+1 to 1+2", "close 0, from 1+1 to 0+2"] },
])("$old leave to $young from the highest number down", ({ old, young, steps }) => {
  const said = leaveSteps(old, young).map(
    ({ close, before, after }) => `close ${close}, from ${before.base}+${before.count} to ${after.base}+${after.count}`,
  );
  expect(said).toEqual(steps);
});

test.each([
  { old: 1, young: 1, order: [0] },
  { old: 1, young: 3, order: [2, 0, 1] },
  { old: 2, young: 3, order: [1, 2, 0] },
  { old: 3, young: 2, order: [1, 0] },
])("after $old have left, $young are numbered $order", ({ old, young, order }) => {
  expect(orderAfterLeaving(old, young)).toEqual(order);
});

test("the steps of leaving name young sockets only", () => {
  for (let old = 1; old <= 5; old += 1) {
    for (let young = 1; young <= 5; young += 1) {
      const members: string[] = [...Array(old).fill("old"), ...Array(young).fill("young")];
      const named = ({ base, count }: { base: number; count: number }) => members.slice(base, base + count);
      for (const { close, before, after } of leaveSteps(old, young)) {
        expect(new Set(named(before))).toEqual(new Set(["young"]));
        expect(members[close]).toBe("old");
        const last = members.pop() ?? "";
        if (close < members.length) members[close] = last;
        if (young > 1) expect(new Set(named(before))).toEqual(new Set(["young"]));
        expect(named(after)).toEqual(Array(young).fill("young"));
      }
      expect([...orderAfterLeaving(old, young)].sort()).toEqual(Array.from({ length: young }, (_, i) => i));
    }
  }
});
