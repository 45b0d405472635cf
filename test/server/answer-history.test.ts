import { describe, expect, test } from "vitest";
import { ANSWER_HISTORY_MS, AnswerHistory, KEPT_CHANGES } from "../../src/server/answer-history.js";

const change = (atMs: number, addresses = 3) => ({ atMs, addresses, mode: "healthy" as const });

describe("the history of answers", () => {
  test("keeps the newest changes, however fast they come", () => {
    const history = new AnswerHistory();
    for (let i = 0; i < KEPT_CHANGES + 50; i++) history.add("api", change(i));
    expect(history.of("api")).toHaveLength(KEPT_CHANGES);
    expect(history.of("api").at(-1)).toEqual(change(KEPT_CHANGES + 49));
  });

  test("goes back a day, and keeps the state with which the day began", () => {
    const history = new AnswerHistory();
    for (const atMs of [0, 1_000, ANSWER_HISTORY_MS + 2_000]) history.add("api", change(atMs));
    expect(history.of("api").map(({ atMs }) => atMs)).toEqual([1_000, ANSWER_HISTORY_MS + 2_000]);
  });

  test("forgets endpoints that are not served any more", () => {
    const history = new AnswerHistory();
    history.add("api", change(0));
    history.add("gone", change(0));
    history.prune((fqdn) => fqdn === "api");
    expect([history.of("api").length, history.of("gone").length]).toEqual([1, 0]);
  });
});
