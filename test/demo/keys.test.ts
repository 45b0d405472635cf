import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { type DemoAction, keyAction, readKeys, selectedAfter, splitKeys } from "../../src/demo/keys.js";

describe("keyAction", () => {
  const cases: { keys: readonly string[]; action: DemoAction | undefined }[] = [
    { keys: ["1"], action: { kind: "select", index: 0 } },
    { keys: ["9"], action: { kind: "select", index: 8 } },
    { keys: ["\t", "\x1b[B", "\x1bOB"], action: { kind: "move", by: 1 } },
    { keys: ["\x1b[Z", "\x1b[A", "\x1bOA"], action: { kind: "move", by: -1 } },
    { keys: ["c", "C"], action: { kind: "crash" } },
    { keys: ["h", "H"], action: { kind: "hang" } },
    { keys: ["u", "U"], action: { kind: "unready" } },
    { keys: ["r", "R"], action: { kind: "revive" } },
    { keys: ["?"], action: { kind: "help" } },
    { keys: ["q", "Q", "\x03", "\x04"], action: { kind: "quit" } },
    { keys: ["0", "x", " ", "\r", "\x1b", "\x1b[C", "10", ""], action: undefined },
  ];
  for (const { keys, action } of cases) {
    for (const key of keys) {
      it(`${JSON.stringify(key)} means ${action?.kind ?? "nothing"}`, () => expect(keyAction(key)).toEqual(action));
    }
  }
});

describe("splitKeys", () => {
  for (const [input, keys] of [
    ["", []],
    ["2c", ["2", "c"]],
    ["\x1b[A\x1b[Bq", ["\x1b[A", "\x1b[B", "q"]],
    ["\x1bOA1", ["\x1bOA", "1"]],
    ["\x1b[1;5Cr", ["\x1b[1;5C", "r"]],
    ["\x1b", ["\x1b"]],
    ["\n€😀", ["\n", "€", "😀"]],
  ] as const) {
    it(`cuts ${JSON.stringify(input)}`, () => expect(splitKeys(input)).toEqual(keys));
  }
});

describe("selectedAfter", () => {
  const cases: { name: string; selected: number; action: DemoAction; after: number }[] = [
    { name: "a number selects", selected: 0, action: { kind: "select", index: 2 }, after: 2 },
    { name: "a number without a target does not", selected: 1, action: { kind: "select", index: 3 }, after: 1 },
    { name: "down moves on", selected: 0, action: { kind: "move", by: 1 }, after: 1 },
    { name: "down wraps at the end", selected: 2, action: { kind: "move", by: 1 }, after: 0 },
    { name: "up wraps at the beginning", selected: 0, action: { kind: "move", by: -1 }, after: 2 },
    { name: "a deed keeps the selection", selected: 1, action: { kind: "crash" }, after: 1 },
  ];
  for (const { name, selected, action, after } of cases) {
    it(name, () => expect(selectedAfter(selected, action, 3)).toBe(after));
  }
});

describe("readKeys", () => {
  function terminal(isTTY: boolean) {
    const calls: string[] = [];
    const input = Object.assign(new EventEmitter(), {
      isTTY,
      setRawMode: (raw: boolean) => calls.push(`raw ${raw}`),
      setEncoding: (encoding: string) => calls.push(encoding),
      resume: () => calls.push("resume"),
      pause: () => calls.push("pause"),
    });
    return { input, calls };
  }

  it("reports what keys ask for, and gives the terminal back", () => {
    const { input, calls } = terminal(true);
    const actions: DemoAction[] = [];
    const stop = readKeys(input, (action) => actions.push(action));
    input.emit("data", "2x");
    input.emit("data", "c\x1b[A");
    stop();
    input.emit("data", "q");
    expect(actions).toEqual([
      { kind: "select", index: 1 },
      { kind: "unknown" },
      { kind: "crash" },
      { kind: "move", by: -1 },
    ]);
    expect(calls).toEqual(["utf8", "raw true", "resume", "raw false", "pause"]);
  });

  it("leaves an input that is not a terminal alone", () => {
    const { input, calls } = terminal(false);
    const actions: DemoAction[] = [];
    readKeys(input, (action) => actions.push(action))();
    input.emit("data", "q");
    expect([actions, calls]).toEqual([[], []]);
  });
});
