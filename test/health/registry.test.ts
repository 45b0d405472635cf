import { describe, expect, test } from "vitest";
import { Registry, type ViewedAddress } from "../../src/health/registry.js";

/** A registry whose entries are the views alone; `made` names the addresses that it asked an entry for. */
function setUp() {
  const registry = new Registry<{ readonly view: ViewedAddress }>();
  const made: string[] = [];
  const set = (fqdn: string, targets: Readonly<Record<string, readonly string[]>>, disabled: readonly string[] = []) =>
    registry
      .setEndpoint(
        {
          fqdn,
          targets: Object.entries(targets).map(([id, addresses]) => ({
            id,
            addresses,
            disabled: disabled.includes(id),
          })),
        },
        (view) => {
          made.push(view.address);
          return { view };
        },
      )
      .map(({ view }) => view.address);
  const remove = (fqdn: string) => registry.removeEndpoint(fqdn).map(({ view }) => view.address);
  return { registry, made, set, remove };
}

describe("an endpoint that is set", () => {
  test("keeps the entries of addresses that stay, makes those of new ones, and names those that are gone", () => {
    const { registry, made, set } = setUp();
    expect(set("api", { cp1: ["a", "b"], cp2: ["c"] })).toEqual([]);
    const [a] = registry.addresses("api", "cp1");
    expect(set("api", { cp1: ["a", "d"], cp3: ["c"] })).toEqual(["b", "c"]);
    expect(made).toEqual(["a", "b", "c", "d", "c"]);
    expect(registry.addresses("api", "cp1")[0]).toBe(a);
    expect(registry.addresses("api", "cp2")).toEqual([]);
  });

  test("changes its own picture, not those of others, and none if it is the same", () => {
    const { registry, set } = setUp();
    set("api", { cp1: ["a"], cp2: ["b"] });
    set("other", { cp1: ["a"] });
    const before = registry.snapshot().endpoints;
    set("api", { cp1: ["a"], cp2: ["b"] });
    expect(registry.snapshot().endpoints.get("api")).toBe(before.get("api"));
    set("api", { cp1: ["a"], cp2: ["b"] }, ["cp2"]);
    const after = registry.snapshot().endpoints;
    expect(after.get("other")).toBe(before.get("other"));
    expect(after.get("api")?.targets[0]).toBe(before.get("api")?.targets[0]);
    expect(after.get("api")?.targets[1]).toMatchObject({ id: "cp2", disabled: true });
    expect(before.get("api")?.targets[1]).not.toHaveProperty("disabled");
  });

  test("keeps its place; a new one comes last", () => {
    const { registry, set } = setUp();
    for (const fqdn of ["one", "two", "three"]) set(fqdn, { cp1: ["a"] });
    set("one", { cp2: ["b"] });
    expect(registry.names()).toEqual(["one", "two", "three"]);
    expect([...registry.snapshot().endpoints.keys()]).toEqual(["one", "two", "three"]);
  });
});

describe("an endpoint that is removed", () => {
  test("names its addresses, and is in no picture any more but those made before", () => {
    const { registry, set, remove } = setUp();
    set("api", { cp1: ["a", "b"], cp2: ["c"] });
    set("other", { cp1: ["a"] });
    const before = registry.snapshot();
    expect(remove("api")).toEqual(["a", "b", "c"]);
    expect(registry.has("api")).toBe(false);
    expect(registry.targets("api")).toEqual([]);
    expect([...registry.snapshot().endpoints.keys()]).toEqual(["other"]);
    expect([...before.endpoints.keys()]).toEqual(["api", "other"]);
  });

  test("gets new entries when it comes back, at the end", () => {
    const { registry, made, set, remove } = setUp();
    set("api", { cp1: ["a"] });
    set("other", { cp1: ["b"] });
    remove("api");
    expect(set("api", { cp1: ["a"] })).toEqual([]);
    expect(made).toEqual(["a", "b", "a"]);
    expect(registry.names()).toEqual(["other", "api"]);
  });

  test("need not be there", () => {
    const { registry, set, remove } = setUp();
    set("api", { cp1: ["a"] });
    expect(remove("other")).toEqual([]);
    expect(registry.names()).toEqual(["api"]);
  });
});
