import { createMetrics, type Metrics } from "../../src/admin/metrics.js";
import { sumCounters } from "../../src/query/counters.js";

/** The metrics of a server without zones, which nobody has asked anything. */
export function emptyMetrics(): Metrics {
  return createMetrics(
    {
      queryTotals: () => sumCounters([]),
      socketTotals: () => ({ kernelDrops: 0, sendErrors: 0, sendBlocked: 0, receiveErrors: 0 }),
      targets: () => [],
      endpoints: () => [],
      zones: () => [],
      isIsolated: () => false,
    },
    { version: "0", transport: "dgram" },
  );
}
