/** Where a piece of configuration stands, for messages. */
export interface Position {
  /** File as shown to the user. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
}
