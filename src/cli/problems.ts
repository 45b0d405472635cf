import { formatProblem, type Problem } from "../lib/errors.js";
import { ConfigurationError } from "../server/load-zones.js";
import { EXIT } from "./exit.js";
import { writeJson } from "./output.js";

/** Prints problems to standard error, in the order of the files. */
export function printProblems(problems: readonly Problem[]): void {
  for (const problem of problems) process.stderr.write(`${formatProblem(problem)}\n`);
}

/**
 * Runs a command that needs a configuration; a faulty one is printed problem by problem, and ends it with code 1.
 *
 * @param isJson print it as JSON too, on standard output
 */
export async function refusingProblems(run: () => Promise<number> | number, isJson = false): Promise<number> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    printProblems(error.problems);
    if (isJson) {
      const problems = error.problems.map(formatProblem);
      writeJson(process.stdout, { error: { code: "CONFIG_REFUSED", message: error.message, problems } });
    }
    return EXIT.failure;
  }
}
