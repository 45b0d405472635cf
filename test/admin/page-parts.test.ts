import { expect, test } from "vitest";
import { PAGE_DRAWINGS } from "../../src/admin/page-drawings.js";
import { PAGE_PLAN } from "../../src/admin/page-plan.js";
import { PAGE_SCRIPT } from "../../src/admin/page-script.js";
import { PAGE_SECTIONS } from "../../src/admin/page-sections.js";

test("the script of the page is made of its parts, each once", () => {
  for (const part of [PAGE_DRAWINGS, PAGE_PLAN, PAGE_SECTIONS]) expect(PAGE_SCRIPT.split(part)).toHaveLength(2);
});
