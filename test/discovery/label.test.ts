import { describe, expect, test } from "vitest";
import { idOfAddress, labelOf, markedLabel } from "../../src/discovery/label.js";

describe("the label of an id", () => {
  const rows = [
    { id: "cp1", label: "cp1" },
    { id: "CP-1.Example.COM", label: "cp-1-example-com" },
    { id: "_node_", label: "node" },
    { id: "Knöten 7", label: "kn-ten-7" },
    { id: "...", label: "" },
  ] as const;
  test.each(rows)("$id becomes $label", ({ id, label }) => expect(labelOf(id)).toBe(label));

  test("fits a DNS label, however long the id is", () => {
    const [a, b] = [labelOf(`${"x".repeat(90)}a`), labelOf(`${"x".repeat(90)}b`)];
    expect(a.length).toBeLessThanOrEqual(63);
    expect(a).not.toBe(b);
    expect(labelOf("x".repeat(1_000_000)).length).toBeLessThanOrEqual(63);
  });

  test("of an address names the address", () => {
    expect(labelOf(idOfAddress("192.0.2.11"))).toBe("ip-192-0-2-11");
    expect(labelOf(idOfAddress("2001:db8::"))).toBe("ip-2001-db8");
  });

  test("with a mark depends on the id alone", () => {
    expect(markedLabel("a-b", "a.b")).toBe(markedLabel("a-b", "a.b"));
    expect(markedLabel("a-b", "a.b")).not.toBe(markedLabel("a-b", "a_b"));
  });
});
