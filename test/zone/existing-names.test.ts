import fc from "fast-check";
import { expect, test } from "vitest";
import { type Name, parentName, parseName, prependLabels } from "../../src/wire/name.js";
import { cutAbove, ExistingNames } from "../../src/zone/existing-names.js";

const APEX = parseName("zone.test.");
const CUTS = new Set([prependLabels(["c"], APEX), prependLabels(["d", "c"], APEX)]);

const owner = fc
  .array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 4 })
  .map((labels) => prependLabels(labels, APEX));

/** What exists with these owners, by the definition. */
function existing(owners: readonly Name[]): Set<Name> {
  const names = new Set<Name>([APEX]);
  for (const owner of owners) {
    for (
      let at: Name | undefined = cutAbove(owner, CUTS) ?? owner;
      at !== undefined && at !== APEX;
      at = parentName(at)
    ) {
      names.add(at);
    }
  }
  return names;
}

test("owners come and go: what exists is what the definition says, and each step tells the difference", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), owner), { maxLength: 80 }), (steps) => {
      const names = new ExistingNames(APEX, CUTS);
      const owners: Name[] = [];
      for (const [isAdding, name] of steps) {
        const before = new Set(names.all());
        const at = owners.indexOf(name);
        const appeared = isAdding ? names.add(name) : [];
        const disappeared = !isAdding && at >= 0 ? names.remove(name) : [];
        if (isAdding) owners.push(name);
        else if (at >= 0) owners.splice(at, 1);
        const now = new Set(names.all());
        expect(now).toEqual(existing(owners));
        expect(new Set(appeared)).toEqual(new Set([...now].filter((one) => !before.has(one))));
        expect(new Set(disappeared)).toEqual(new Set([...before].filter((one) => !now.has(one))));
      }
    }),
    { seed: 13, numRuns: 100 },
  );
});

test.each([
  ["a.zone.test.", undefined],
  ["c.zone.test.", "c.zone.test."],
  ["x.d.c.zone.test.", "c.zone.test."],
])("the cut above %s is %s", (name, cut) => {
  expect(cutAbove(parseName(name), CUTS)).toBe(cut && parseName(cut));
});
