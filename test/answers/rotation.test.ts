import { describe, expect, test } from "vitest";
import { balancedOrders } from "../../src/answers/rotation.js";

function rowsOf(count: number): number[][] {
  const flat = balancedOrders(count);
  return Array.from({ length: flat.length / count }, (_, row) => [...flat.subarray(row * count, (row + 1) * count)]);
}

describe.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 63, 64])("orders of %i records", (count) => {
  const rows = rowsOf(count);
  const perPlace = rows.length / count;

  test("are permutations: as many rows as records if even, twice as many if odd", () => {
    expect(rows).toHaveLength(count % 2 === 0 ? count : 2 * count);
    for (const row of rows) expect([...row].sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, i) => i));
  });

  test("each comes equally often in every place, the first above all", () => {
    for (let place = 0; place < count; place += 1) {
      for (let record = 0; record < count; record += 1) {
        expect(rows.filter((row) => row[place] === record)).toHaveLength(perPlace);
      }
    }
  });

  test("each follows every other equally often, so that the clients of a dead one are spread evenly", () => {
    const follows = new Map<string, number>();
    for (const row of rows) {
      for (let i = 1; i < count; i += 1) {
        const pair = `${row[i - 1]} ${row[i]}`;
        follows.set(pair, (follows.get(pair) ?? 0) + 1);
      }
    }
    expect(follows.size).toBe(count * (count - 1));
    expect(new Set(follows.values()).size).toBeLessThanOrEqual(1);
  });
});
