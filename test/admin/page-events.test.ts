import { expect, test } from "vitest";
import { PAGE_EVENTS } from "../../src/admin/page-events.js";
import { eventSchema } from "../../src/admin/schemas.js";

test("every event that the server tells of has a text on the page", () => {
  const without = eventSchema.options
    .map(({ shape }) => shape.type.value)
    .filter((type) => !new RegExp(`^    "?${type}"?: \\(`, "m").test(PAGE_EVENTS));
  expect(without).toEqual([]);
});
