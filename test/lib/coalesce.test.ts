import { describe, expect, test } from "vitest";
import { coalesce } from "../../src/lib/coalesce.js";

/** A task that runs until it is let go. */
function heldTask() {
  const held: ((value: number) => void)[] = [];
  let runs = 0;
  const run = () => {
    runs += 1;
    return new Promise<number>((resolve) => held.push(resolve));
  };
  return { run, runs: () => runs, release: (value: number) => held.shift()?.(value) };
}

describe("coalesce", () => {
  test("a hundred calls during a run make one more run, and all get what came of that", async () => {
    const task = heldTask();
    const call = coalesce(task.run);
    const first = call();
    const others = Array.from({ length: 100 }, () => call());
    expect(task.runs()).toBe(1);
    task.release(1);
    expect(await first).toBe(1);
    await Promise.resolve();
    expect(task.runs()).toBe(2);
    task.release(2);
    expect(new Set(await Promise.all(others))).toEqual(new Set([2]));
    expect(task.runs()).toBe(2);
  });

  test("a call after the end runs anew", async () => {
    const task = heldTask();
    const call = coalesce(task.run);
    const first = call();
    task.release(1);
    await first;
    const second = call();
    task.release(2);
    expect([await second, task.runs()]).toEqual([2, 2]);
  });

  test("a run that fails does not take the one after it along", async () => {
    let runs = 0;
    const call = coalesce(async () => {
      runs += 1;
      await Promise.resolve();
      if (runs === 1) throw new Error("the first");
      return runs;
    });
    const first = call();
    const second = call();
    await expect(first).rejects.toThrow("the first");
    expect(await second).toBe(2);
  });
});
