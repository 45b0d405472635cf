/** Exit codes of every command. */
export const EXIT = {
  success: 0,
  /** The answer is "no", or the input is bad. */
  failure: 1,
  /** The command line makes no sense. */
  usage: 2,
} as const;

/** Where a command reports how it ended. */
export interface CommandContext {
  exit(code: number): void;
}
