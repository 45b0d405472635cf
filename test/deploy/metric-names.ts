import { emptyMetrics } from "../admin/empty-metrics.js";

/** Every series name that livezone may export, those of histograms in all their forms. */
export async function metricsOfLivezone(): Promise<Set<string>> {
  const metrics = emptyMetrics();
  metrics.watchStreams({ subscribers: 0, dropped: 0 });
  const all = await metrics.registry.getMetricsAsJSON();
  return new Set(
    all.flatMap(({ name, type }) =>
      String(type) === "histogram" ? ["_bucket", "_sum", "_count"].map((end) => `${name}${end}`) : [name],
    ),
  );
}

/** Names of metrics in a PromQL expression; string literals, label lists and functions are none. */
export function metricNamesIn(expression: string): string[] {
  const bare = expression
    .replace(/"(?:[^"\\]|\\.)*"/g, "")
    .replace(/\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g, "")
    .replace(/\{[^}]*\}/g, "")
    .replace(/\[[^\]]*\]/g, "");
  const words = bare.match(/\b[a-z_][a-z0-9_]*\b(?!\s*\()/g) ?? [];
  return [...new Set(words.filter((word) => word.includes("_") || word === "up"))];
}
