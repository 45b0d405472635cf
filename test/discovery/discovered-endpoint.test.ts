import { describe, expect, test } from "vitest";
import type { EndpointConfig } from "../../src/config/config.js";
import { DiscoveredEndpoint } from "../../src/discovery/discovered-endpoint.js";

const position = { file: "zone.yaml", line: 1, column: 1 };

function endpoint(...names: readonly string[]) {
  const sources = names.map((name) => ({ type: "file" as const, name, position, path: "/t" }));
  const config = {
    ...{ fqdn: "api.example.com", port: 6443, position },
    targets: [{ position, id: "cp1", addresses: ["192.0.2.11"] }],
    discover: { sources, forgetAfterMs: 3_600_000, maxTargets: 64 },
    // The rest of an endpoint does not concern discovery.
  } as unknown as EndpointConfig & { readonly discover: NonNullable<EndpointConfig["discover"]> };
  return { endpoint: config, allowSpecialAddresses: false, conflict: () => undefined };
}

const surroundings = { nowMs: 1_000, healthOf: () => undefined };
const ids = (one: DiscoveredEndpoint) => one.update(surroundings).targets.map(({ id }) => id);
const cp = (number: number) => ({ id: `cp${number}`, addresses: [`192.0.2.1${number}`] });

describe("an endpoint whose targets are discovered", () => {
  test("an empty set and a failure remove nothing", () => {
    const one = new DiscoveredEndpoint(endpoint("a"), []);
    one.proposed("a", [cp(2)], [], 1);
    one.proposed("a", [], [], 2);
    expect(ids(one)).toEqual(["cp1", "cp2"]);
    expect(one.sources).toMatchObject([{ state: "empty", heardAtMs: 2, candidates: 1 }]);
    expect(one.failed("a", { problem: "gone", needsOperator: false })).toBe(true);
    expect(one.failed("a", { problem: "gone", needsOperator: false })).toBe(false);
    expect(ids(one)).toEqual(["cp1", "cp2"]);
    expect(one.proposed("a", [cp(2)], [], 3)).toBe(true);
    expect(one.sources).toMatchObject([{ state: "ok", heardAtMs: 3 }]);
    expect(one.sources[0]).not.toHaveProperty("failure");
  });

  test("a source that is taken out of the configuration takes its targets with it once another target is up", () => {
    const one = new DiscoveredEndpoint(endpoint("a", "b"), []);
    one.proposed("a", [cp(2)], [], 1);
    one.proposed("b", [cp(3)], [], 1);
    expect(ids(one)).toEqual(["cp1", "cp2", "cp3"]);
    one.configure(endpoint("b"));
    expect(ids(one)).toEqual(["cp1", "cp2", "cp3"]);
    const { targets } = one.update({ ...surroundings, healthOf: () => ({ health: "up", sinceMs: 0 }) });
    expect(targets.map(({ id }) => id)).toEqual(["cp1", "cp3"]);
  });

  test("what passed and failed between two updates has passed", () => {
    const one = new DiscoveredEndpoint(endpoint("a"), []);
    one.proposed("a", [cp(2)], [], 1);
    expect(one.update(surroundings).targets).toMatchObject([{ id: "cp1" }, { id: "cp2", unproven: ["192.0.2.12"] }]);
    one.passed("192.0.2.12");
    const { targets } = one.update({ ...surroundings, healthOf: () => ({ health: "down", sinceMs: 0 }) });
    expect(targets[1]).not.toHaveProperty("unproven");
  });

  test("a source that begins anew loses nothing before it speaks", () => {
    const one = new DiscoveredEndpoint(endpoint("a"), []);
    one.proposed("a", [cp(2)], [], 1);
    one.update(surroundings);
    one.forget("a");
    expect(ids(one)).toEqual(["cp1", "cp2"]);
    expect(one.confirmed("a", 5)).toBe(false);
  });

  test("of thousands of candidates, what is left out is not remembered; it is told once, and comes in when there is room", () => {
    const one = new DiscoveredEndpoint(endpoint("a"), []);
    const many = Array.from({ length: 10_000 }, (_, i) => ({
      id: `n${String(i).padStart(5, "0")}`,
      addresses: [`10.0.${i >> 8}.${i & 255}`],
    }));
    one.proposed("a", many, [], 1);
    const first = one.update(surroundings);
    expect(first.targets).toHaveLength(64);
    expect(first.ignored).toBe(10_000 - 63);
    expect(one.learned).toHaveLength(63);
    expect(first.news.map(({ text }) => text)).toEqual([expect.stringContaining("maxTargets is 64")]);
    one.proposed("a", many.slice(1), [], 2);
    expect(one.update(surroundings).news).toEqual([]);
    // n00000 is gone, and gives its place to one that is proposed.
    expect(one.learned.map(({ id }) => id)).toContain("n00063");
    expect(one.learned).toHaveLength(63);
    one.proposed("a", many.slice(0, 3), [], 3);
    expect(ids(one)).toHaveLength(64);
  });

  test("notices of a source are bounded", () => {
    const one = new DiscoveredEndpoint(endpoint("a"), []);
    const notices = Array.from({ length: 10_000 }, (_, i) => ({ key: `K${i}`, text: "odd" }));
    one.proposed("a", [cp(2)], notices, 1);
    expect(one.update(surroundings).news).toHaveLength(100);
  });

  test("a notice is news once, and again after it was gone", () => {
    const one = new DiscoveredEndpoint(endpoint("a"), []);
    const notice = { key: "K", text: "odd" };
    const news = () => one.update(surroundings).news.map(({ text }) => text);
    one.proposed("a", [cp(2)], [notice], 1);
    expect([news(), news()]).toEqual([["odd"], []]);
    one.proposed("a", [cp(2)], [], 2);
    expect(news()).toEqual([]);
    one.proposed("a", [cp(2)], [notice], 3);
    expect(news()).toEqual(["odd"]);
  });
});
