import type { History } from "../admin/history-schema.js";
import type { Snapshot } from "../health/health.js";
import { RESULT_CLASSES } from "../health/health.js";
import type { Clock } from "../lib/clock.js";
import type { AnswerHistory } from "./answer-history.js";
import type { ServedEndpoints } from "./endpoints.js";
import type { ProbeHistory } from "./probe-history.js";
import { type QueryHistory, SAMPLE_EVERY_MS } from "./query-history.js";
import { zoneViews } from "./status-view.js";

/** What the history is read from. */
export interface RecentHistoryParts {
  readonly clock: Clock;
  readonly served: ServedEndpoints;
  readonly history: ProbeHistory;
  readonly answerHistory: AnswerHistory;
  readonly queryHistory: QueryHistory;
  snapshot(): Snapshot;
}

/** What happened lately, as the admin API tells it, but the events. */
export function recentHistory(parts: RecentHistoryParts): Omit<History, "events"> {
  const { clock, served, history, answerHistory, queryHistory, snapshot } = parts;
  const endpoints = zoneViews(served, snapshot()).flatMap((zone) => zone.endpoints);
  return {
    nowMs: clock.wallMs(),
    classes: [...RESULT_CLASSES],
    strips: endpoints.flatMap(({ endpoint, targets }) =>
      targets.flatMap(({ id, addresses }) => addresses.flatMap(({ address }) => strip(history, endpoint, id, address))),
    ),
    answers: endpoints.map(({ endpoint }) => ({ endpoint, changes: [...answerHistory.of(endpoint)] })),
    queries: { stepMs: SAMPLE_EVERY_MS, ...queryHistory.read() },
  };
}

function strip(history: ProbeHistory, endpoint: string, target: string, address: string): History["strips"] {
  const results = history.of(endpoint, target, address);
  const last = results.at(-1);
  if (last === undefined) return [];
  return [
    {
      endpoint,
      target,
      address,
      lastMs: last.atMs,
      results: results.map((result) => RESULT_CLASSES.indexOf(result.class).toString(36)).join(""),
      durationsMs: results.map(({ durationMs }) => Math.round(durationMs)),
    },
  ];
}
