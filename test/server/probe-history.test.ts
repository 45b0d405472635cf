import { describe, expect, test } from "vitest";
import type { ProbeResult } from "../../src/health/health.js";
import { createProbeHistory, KEPT_RESULTS } from "../../src/server/probe-history.js";

const ok = (reason: string): ProbeResult => ({ class: "ok", reason, durationMs: 1.5 });

describe("the history of probes", () => {
  test("gives back what it got, oldest first", () => {
    const history = createProbeHistory();
    const refused: ProbeResult = { class: "refused", reason: "connection refused", durationMs: 0.25 };
    history.add("api", "cp1", "192.0.2.1", { ...ok("HTTP 200"), certificateExpiryMs: 1e12 }, 1);
    history.add("api", "cp1", "192.0.2.1", refused, 2);
    expect(history.of("api", "cp1", "192.0.2.1")).toEqual([
      { atMs: 1, class: "ok", reason: "HTTP 200", durationMs: 1.5, certificateExpiryMs: 1e12 },
      { atMs: 2, ...refused },
    ]);
    expect(history.of("api", "cp2", "192.0.2.1")).toEqual([]);
  });

  test("keeps the newest only", () => {
    const history = createProbeHistory();
    for (let i = 1; i <= KEPT_RESULTS * 2 + 7; i++) history.add("api", "cp1", "192.0.2.1", ok(`result ${i}`), i);
    const kept = history.of("api", "cp1", "192.0.2.1");
    expect(kept).toHaveLength(KEPT_RESULTS);
    expect(kept[0]).toMatchObject({ atMs: KEPT_RESULTS + 8, reason: `result ${KEPT_RESULTS + 8}` });
    expect(kept.at(-1)).toMatchObject({ atMs: KEPT_RESULTS * 2 + 7 });
    expect(kept.map(({ atMs }) => atMs)).toEqual(kept.map(({ atMs }) => atMs).toSorted((a, b) => a - b));
  });

  test("forgets what is gone", () => {
    const history = createProbeHistory();
    for (const target of ["cp1", "cp2"]) history.add("api", target, "192.0.2.1", ok("HTTP 200"), 1);
    history.prune((_endpoint, target) => target === "cp2");
    expect(history.of("api", "cp1", "192.0.2.1")).toEqual([]);
    expect(history.of("api", "cp2", "192.0.2.1")).toHaveLength(1);
  });
});
