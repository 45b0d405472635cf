/**
 * One thing wrong with what a person gave us, said so that they can mend it without reading the source.
 *
 * Printed as `file:line:column: message\nremedy [CODE]`.
 */
export interface Problem {
  /** File as the user named it, relative to the working directory where that is shorter. */
  readonly file: string;
  /** Line, from 1. */
  readonly line: number;
  /** Column in characters, from 1. */
  readonly column: number;
  /** What was got and why it cannot be: one sentence that names the value. */
  readonly message: string;
  /** What to write instead: one sentence. */
  readonly remedy: string;
  /** Stable identifier, upper case with underscores, e.g. `CONFIG_PROBE_OVERLAP`. */
  readonly code: string;
  /** `warning` is printed but stops nothing. Default: `error`. */
  readonly severity?: "error" | "warning";
}

/** The printed form of a {@link Problem}; two lines without a trailing newline. */
export function formatProblem(problem: Problem): string {
  const { file, line, column, severity, message, remedy, code } = problem;
  const kind = severity === "warning" ? "warning: " : "";
  return `${file}:${line}:${column}: ${kind}${message}\n${remedy} [${code}]`;
}

/**
 * An error whose message is meant for the user as it stands: printed as one line, without a stack trace.
 * Anything else that is thrown is a defect of livezone.
 */
export class UserError extends Error {
  /** @param code stable identifier, e.g. `LISTEN_ADDRESS_IN_USE` */
  constructor(
    message: string,
    readonly code: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = "UserError";
  }
}

/** The message of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The `code` of a system error (`ECONNREFUSED`), or the empty string. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}
