import { join } from "node:path";
import { parseSource, type Report, type Source } from "../../src/config/source.js";
import { formatProblem, type Problem } from "../../src/lib/errors.js";

/** A YAML text as a source; fails if it is no YAML. @param file absolute; the text need not stand there */
export function sourceOf(text: string, file = "/etc/livezone/main.yaml"): Source {
  const parsed = parseSource("main.yaml", file, Buffer.from(text));
  if ("problems" in parsed) throw new Error(parsed.problems.map(formatProblem).join("\n"));
  return parsed.source;
}

/** A source in a folder. */
export function sourceIn(folder: string, text: string): Source {
  return sourceOf(text, join(folder, "main.yaml"));
}

/** Collects what is reported. */
export function collecting(): { readonly problems: Problem[]; readonly report: Report } {
  const problems: Problem[] = [];
  return { problems, report: (problem) => problems.push(problem) };
}

/** `line:column CODE` of a problem. */
export function brief({ line, column, code }: Problem): string {
  return `${line}:${column} ${code}`;
}
