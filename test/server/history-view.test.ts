import { expect, test } from "vitest";
import { createQueryCounters, sumCounters } from "../../src/query/counters.js";
import { AnswerHistory } from "../../src/server/answer-history.js";
import { recentHistory } from "../../src/server/history-view.js";
import { createProbeHistory } from "../../src/server/probe-history.js";
import { QueryHistory } from "../../src/server/query-history.js";
import { createFakeClock } from "../support/fake-clock.js";
import { serveEndpoints, snapshotOf } from "./served.js";

test("results are compact: a character for each, and only of addresses that were probed", () => {
  const targets = { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"] };
  const snapshot = snapshotOf({ "api.one.test": targets });
  const { served } = serveEndpoints([{ zone: "one.test", endpoints: { api: targets } }], snapshot);
  const clock = createFakeClock();
  const history = createProbeHistory();
  const answerHistory = new AnswerHistory();
  const totals = () => sumCounters([createQueryCounters().memory]);
  const queryHistory = new QueryHistory(clock, totals, () => false);
  for (const name of ["ok", "refused", "ok"] as const) {
    history.add("api.one.test", "cp1", "192.0.2.11", { class: name, reason: name, durationMs: 1.6 }, 7);
  }
  answerHistory.add("api.one.test", { atMs: 5, addresses: 2, mode: "healthy" });
  const read = recentHistory({ clock, served, history, answerHistory, queryHistory, snapshot: () => snapshot });
  const refused = read.classes.indexOf("refused").toString(36);
  expect(read.strips).toEqual([
    {
      endpoint: "api.one.test",
      target: "cp1",
      address: "192.0.2.11",
      lastMs: 7,
      results: `0${refused}0`,
      durationsMs: [2, 2, 2],
    },
  ]);
  expect(read.answers).toEqual([{ endpoint: "api.one.test", changes: [{ atMs: 5, addresses: 2, mode: "healthy" }] }]);
});
