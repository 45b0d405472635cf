import type { Reporter, TestModule } from "vitest/node";

/** What a run came to, in tests; a file that cannot be loaded, or a suite whose set-up fails, counts as one failure. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The line that a run ends with: `12 passed, 0 failed`, and `, 3 skipped` when there are any. */
export function countLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

/** Counts the tests of the modules that ran, and the errors that belong to none of them. */
export function countTests(modules: readonly TestModule[], unhandledErrors: number): Counts {
  let passed = 0;
  let failed = unhandledErrors;
  let skipped = 0;
  for (const module of modules) {
    failed += module.errors().length;
    for (const suite of module.children.allSuites()) failed += suite.errors().length;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === "passed") passed += 1;
      else if (state === "failed") failed += 1;
      else skipped += 1;
    }
  }
  return { passed, failed, skipped };
}

/** Prints the counts as the last line of a run. */
export function countReporter(): Reporter {
  return {
    onTestRunEnd(modules, unhandledErrors) {
      process.stdout.write(`${countLine(countTests(modules, unhandledErrors.length))}\n`);
    },
  };
}
