import type { Metrics } from "../admin/metrics.js";
import { labelsOf } from "./endpoint-labels.js";
import type { Subscriber } from "./events.js";

/** Subscriber that counts. */
export function eventMetrics(metrics: Metrics): Subscriber {
  return {
    "probe-finished": ({ report: { result, lagMs } }) =>
      metrics.probeFinished({ class: result.class, durationMs: result.durationMs, lagMs }),
    "health-changed": ({ transition: { target, address, to }, endpoint }) => {
      if (endpoint !== undefined && to !== "unknown") metrics.transition(labelsOf(endpoint, target, address), to);
    },
    "transfer-finished": ({ transfer: { kind, isComplete } }) => metrics.transferFinished(kind, isComplete),
    "zones-replaced": () => metrics.targetsReplaced(),
    "targets-changed": () => metrics.targetsReplaced(),
    reloaded: (_, atMs) => metrics.reloaded(true, atMs),
    "reload-refused": (_, atMs) => metrics.reloaded(false, atMs),
  };
}
