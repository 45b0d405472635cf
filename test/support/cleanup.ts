import { AsyncLocalStorage } from "node:async_hooks";
import { afterAll, aroundEach, onTestFinished, type TestContext } from "vitest";

/**
 * Registers work to be done at the end: the later registered, the earlier done. Every helper in this folder that
 * starts or makes something takes one, and by default cleans up after the test it was called in.
 */
export type Cleanup = (task: () => unknown) => void;

/** Cleans up after the test that is running; the default. */
export const afterThisTest: Cleanup = (task) => {
  (atOnce.getStore()?.onTestFinished ?? onTestFinished)(async () => {
    await task();
  });
};

/** Of the tests that run at the same time, the one that asks. */
const atOnce = new AsyncLocalStorage<TestContext>();

/** Lets {@link afterThisTest} know which of the tests that run at the same time (`test.concurrent`) is meant. */
export function knowEachTest(): void {
  aroundEach((runTest, context) => atOnce.run(context, runTest));
}

/**
 * Cleans up after the last test of the `describe` (or file) it is called in, for what `beforeAll` starts:
 *
 * ```ts
 * const cleanup = afterAllTests();
 * beforeAll(async () => { knot = await startKnot({ ..., cleanup }); });
 * ```
 */
export function afterAllTests(): Cleanup {
  const tasks: (() => unknown)[] = [];
  afterAll(async () => {
    for (const task of tasks.reverse()) await task();
  });
  return (task) => tasks.push(task);
}
