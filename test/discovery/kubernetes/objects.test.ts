import { describe, expect, test } from "vitest";
import { KnownObjects, MAX_OBJECTS, MAX_PAGES } from "../../../src/discovery/kubernetes/objects.js";

const object = (name: string, resourceVersion = "1") => ({ metadata: { name, resourceVersion } });

function known() {
  const objects = new KnownObjects({
    path: "/",
    selector: "",
    read(value) {
      const { name } = (value as ReturnType<typeof object>).metadata;
      return { name, candidates: [{ id: name, addresses: ["192.0.2.1"] }], notices: [] };
    },
  });
  return { objects, ids: () => objects.candidates().map(({ id }) => id) };
}

const line = (type: string, value: unknown) => JSON.stringify({ type, object: value });

describe("a list", () => {
  test("counts once its last page has come", () => {
    const { objects, ids } = known();
    objects.beginList();
    const first = { items: [object("a")], metadata: { resourceVersion: "5", continue: "x" } };
    expect(objects.takePage(first)).toEqual({ next: "x" });
    expect(ids()).toEqual([]);
    expect(objects.takePage({ items: [object("b")], metadata: { resourceVersion: "5" } })).toEqual({});
    expect(ids()).toEqual(["a", "b"]);
    expect(objects.resourceVersion).toBe("5");
  });

  test.each([null, [], 7, {}, { items: 7 }, { items: [], metadata: {} }])("%j is none", (json) => {
    const { objects } = known();
    objects.beginList();
    expect(objects.takePage(json)).toHaveProperty("problem");
  });

  test("of a server that writes null for an empty one is empty", () => {
    const { objects } = known();
    objects.beginList();
    expect(objects.takePage({ items: null, metadata: { resourceVersion: "1" } })).toEqual({});
  });

  test("is cut at its limit, and that is told", () => {
    const { objects, ids } = known();
    objects.beginList();
    const items = Array.from({ length: MAX_OBJECTS + 5 }, (_, index) => object(`n${index}`));
    objects.takePage({ items, metadata: { resourceVersion: "1" } });
    expect(ids()).toHaveLength(MAX_OBJECTS);
    expect(objects.notices()).toHaveLength(1);
  });

  test.each([
    { name: "of empty pages", objectsOfPage: 0, pages: MAX_PAGES },
    { name: "of full pages", objectsOfPage: 100, pages: MAX_OBJECTS / 100 },
  ])("that always promises another page ends: $name", ({ objectsOfPage, pages }) => {
    const { objects } = known();
    objects.beginList();
    let asked = 0;
    let next: string | undefined = "x";
    while (next !== undefined && asked <= MAX_PAGES) {
      const items = Array.from({ length: objectsOfPage }, (_, index) => object(`n${asked}-${index}`));
      const taken = objects.takePage({ items, metadata: { resourceVersion: "5", continue: "x" } });
      next = "next" in taken ? taken.next : undefined;
      asked += 1;
    }
    expect(asked).toBe(pages);
    expect(objects.resourceVersion).toBe("5");
    expect(objects.notices()).toMatchObject([{ key: "PAGES" }]);
  });
});

describe("a line of a watch", () => {
  const rows = [
    { name: "an object more", text: line("ADDED", object("b")), kind: "changed" },
    { name: "one that has not changed", text: line("MODIFIED", object("a", "9")), kind: "same" },
    { name: "an object less", text: line("DELETED", object("a")), kind: "changed" },
    { name: "an unknown object less", text: line("DELETED", object("z")), kind: "same" },
    { name: "a bookmark", text: line("BOOKMARK", object("")), kind: "same" },
    { name: "an unknown word", text: line("WHAT", object("a")), kind: "same" },
    { name: "410", text: line("ERROR", { code: 410 }), kind: "gone" },
    { name: "another error", text: line("ERROR", { code: 500, message: "no" }), kind: "error" },
    { name: "nonsense", text: "{", kind: "nonsense" },
    { name: "no object", text: "7", kind: "nonsense" },
    { name: "an object that makes no sense", text: line("ADDED", null), kind: "changed" },
  ] as const;
  test.each(rows)("$name is $kind", ({ text, kind }) => {
    const { objects } = known();
    objects.beginList();
    objects.takePage({ items: [object("a")], metadata: { resourceVersion: "1" } });
    expect(objects.takeLine(text).kind).toBe(kind);
  });

  test("moves the version on", () => {
    const { objects } = known();
    objects.takeLine(line("BOOKMARK", object("", "77")));
    expect(objects.resourceVersion).toBe("77");
  });
});
