import { url } from "node:inspector";
import { expect, test } from "vitest";
import { giveBackMemory } from "../../src/lib/memory.js";

test("garbage is collected, and no debugger is opened for it", async () => {
  let garbage: object | undefined = { some: "object" };
  const reference = new WeakRef(garbage);
  garbage = undefined;
  // A reference that has been looked at in this turn of the event loop keeps its object.
  await new Promise((resolve) => setImmediate(resolve));
  await giveBackMemory();
  expect(reference.deref()).toBeUndefined();
  expect(url()).toBeUndefined();
});
