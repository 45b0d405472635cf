import { EventEmitter } from "node:events";
import { pino } from "pino";
import { expect, test } from "vitest";
import { logUnexpectedErrors } from "../../src/server/unexpected-errors.js";
import { createFakeClock } from "../support/fake-clock.js";

test("what nobody handles is logged, once a second at most, and what was left out is counted", async () => {
  const clock = createFakeClock();
  const source = new EventEmitter();
  const lines: { msg: string; error: string; unreported: number; stack?: string }[] = [];
  logUnexpectedErrors(
    source,
    pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) }),
    clock,
  );
  source.emit("uncaughtException", new Error("first"));
  source.emit("unhandledRejection", "second");
  source.emit("uncaughtException", new Error("third"));
  await clock.advance(1_000);
  source.emit("unhandledRejection", "fourth");
  expect(lines).toMatchObject([
    { msg: "unexpected error, going on", error: "first", unreported: 0, stack: expect.stringContaining("first") },
    { error: "fourth", unreported: 2 },
  ]);
});
