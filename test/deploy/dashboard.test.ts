import { describe, expect, test } from "vitest";
import { textOf } from "../house-rules/source.js";
import { metricNamesIn, metricsOfLivezone } from "./metric-names.js";

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets: readonly { readonly expr: string }[];
}

interface Variable {
  readonly name: string;
  readonly query: string | { readonly query: string };
}

const dashboard: { readonly panels: readonly Panel[]; readonly templating: { readonly list: readonly Variable[] } } =
  JSON.parse(textOf("deploy/grafana-dashboard.json"));

describe("deploy/grafana-dashboard.json", () => {
  const variables = dashboard.templating.list;
  const queries = variables.flatMap(({ query }) =>
    typeof query === "string" ? [] : [/^label_values\((.*), \w+\)$/.exec(query.query)?.[1] ?? "not understood"],
  );
  const expressions = [...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)), ...queries];

  test("uses metrics that livezone has", async () => {
    const known = await metricsOfLivezone();
    expect(expressions.length).toBeGreaterThan(20);
    for (const expression of expressions) {
      const used = metricNamesIn(expression);
      expect(used.length, expression).toBeGreaterThan(0);
      expect({ expression, unknown: used.filter((name) => !known.has(name)) }).toEqual({ expression, unknown: [] });
    }
  });

  test("uses variables that it has", () => {
    const names = ["__rate_interval", ...variables.map(({ name }) => name)];
    const used = textOf("deploy/grafana-dashboard.json").match(/(?<=\$\{?)[a-z_]\w*/g) ?? [];
    expect(used.filter((name) => !names.includes(name) && name !== "__all")).toEqual([]);
  });

  test("has panels that lie beside each other, each with a title of its own", () => {
    const taken = new Map<string, string>();
    for (const { title, gridPos } of dashboard.panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.get(`${x} ${y}`), title).toBeUndefined();
          taken.set(`${x} ${y}`, title);
        }
      }
    }
    for (const key of ["id", "title"] as const) {
      expect(new Set(dashboard.panels.map((panel) => panel[key])).size).toBe(dashboard.panels.length);
    }
  });

  test.each([
    ['rate(livezone_a_total{x="livezone_b"}[5m])', ["livezone_a_total"]],
    ["sum by (zone, x_y) (livezone_a) > on (a_b) livezone_c", ["livezone_a", "livezone_c"]],
    ["time() - up", ["up"]],
  ])("names are found in %s", (expression, names) => {
    expect(metricNamesIn(expression)).toEqual(names);
  });
});
