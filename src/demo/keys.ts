import type { EventEmitter } from "node:events";

/** What a key asks for. */
export type DemoAction =
  /** Select a target by its place in the table, from 0. It need not exist. */
  | { readonly kind: "select"; readonly index: number }
  /** Select the next (1) or previous (-1) target. */
  | { readonly kind: "move"; readonly by: 1 | -1 }
  /** Do this to the selected target. */
  | { readonly kind: "crash" | "hang" | "unready" | "revive" }
  | { readonly kind: "quit" }
  /** Say what the keys do. */
  | { readonly kind: "help" }
  /** A key that means nothing here. */
  | { readonly kind: "unknown" };

const ACTIONS: ReadonlyMap<string, DemoAction> = new Map([
  ["c", { kind: "crash" }],
  ["h", { kind: "hang" }],
  ["u", { kind: "unready" }],
  ["r", { kind: "revive" }],
  ["q", { kind: "quit" }],
  ["?", { kind: "help" }],
  // Raw mode delivers Ctrl-C and Ctrl-D as characters instead of a signal and an end.
  ["\x03", { kind: "quit" }],
  ["\x04", { kind: "quit" }],
  ["\t", { kind: "move", by: 1 }],
  ["\x1b[B", { kind: "move", by: 1 }],
  ["\x1b[A", { kind: "move", by: -1 }],
  // The same arrows in a terminal's application mode.
  ["\x1bOB", { kind: "move", by: 1 }],
  ["\x1bOA", { kind: "move", by: -1 }],
  ["\x1b[Z", { kind: "move", by: -1 }],
] satisfies [string, DemoAction][]);

/** What a key asks for, in either letter case; undefined for a key that means nothing here. */
export function keyAction(key: string): DemoAction | undefined {
  if (/^[1-9]$/.test(key)) return { kind: "select", index: Number(key) - 1 };
  return ACTIONS.get(key) ?? ACTIONS.get(key.toLowerCase());
}

/** Cuts what a terminal sent into keys: an escape sequence is one key, anything else is one character. */
export function splitKeys(input: string): string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: an escape sequence begins with one.
  return input.match(/\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Za-z]|./gsu) ?? [];
}

/** The index that is selected after an action, among `count` targets; an index that does not exist changes nothing. */
export function selectedAfter(selected: number, action: DemoAction, count: number): number {
  if (action.kind === "select") return action.index < count ? action.index : selected;
  if (action.kind === "move") return (selected + action.by + count) % count;
  return selected;
}

/** What {@link readKeys} needs of `process.stdin`. */
export interface KeyInput extends EventEmitter {
  readonly isTTY?: boolean;
  setRawMode?(raw: boolean): unknown;
  setEncoding(encoding: "utf8"): unknown;
  resume(): unknown;
  pause(): unknown;
}

/**
 * Reads keys in raw mode and reports what they ask for, until the function returned is called, which gives the
 * terminal its former mode back. Without a terminal it reads nothing: a demo in a pipe is ended by a signal.
 */
export function readKeys(input: KeyInput, onAction: (action: DemoAction) => void): () => void {
  if (!input.isTTY) return () => {};
  const onData = (chunk: string) => {
    for (const key of splitKeys(chunk)) onAction(keyAction(key) ?? { kind: "unknown" });
  };
  input.setEncoding("utf8");
  input.setRawMode?.(true);
  input.on("data", onData);
  input.resume();
  return () => {
    input.off("data", onData);
    input.setRawMode?.(false);
    input.pause();
  };
}
