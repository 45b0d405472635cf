import { describe, expect, test } from "vitest";
import type { TargetConfig } from "../../src/config/config.js";
import type { LearnedAddress } from "../../src/discovery/learn.js";
import { type TargetSetInput, targetSet } from "../../src/discovery/targets.js";

const position = { file: "zone.yaml", line: 1, column: 1 };

const written = (id: string, ...addresses: readonly string[]): TargetConfig => ({ position, id, addresses });

const learned = (id: string, address: string, more: Partial<LearnedAddress> = {}): LearnedAddress => ({
  ...{ address, id, name: id, sources: ["k8s"], isProven: true },
  ...more,
});

function setOf(input: Partial<TargetSetInput>) {
  return targetSet({
    ...{
      written: [],
      learned: [],
      maxTargets: 64,
      skipped: 0,
      position,
      conflict: () => undefined,
      healthOf: () => undefined,
    },
    ...input,
  });
}

const ids = (input: Partial<TargetSetInput>) => setOf(input).targets.map(({ id }) => id);

describe("the targets of an endpoint", () => {
  test("are those of the file, then those that were learned, by id", () => {
    const set = setOf({
      written: [written("z", "192.0.2.1")],
      learned: [learned("b", "192.0.2.3"), learned("a", "192.0.2.2", { isProven: false })],
    });
    expect(set.targets).toMatchObject([{ id: "z" }, { id: "a", unproven: ["192.0.2.2"] }, { id: "b" }]);
    expect([...set.origins].map(([id, { origins }]) => [id, origins])).toEqual([
      ["z", ["config"]],
      ["a", ["k8s"]],
      ["b", ["k8s"]],
    ]);
  });

  test("keep an address that is written, whatever sources call it", () => {
    const set = setOf({
      written: [written("first", "192.0.2.1")],
      learned: [learned("cp1", "192.0.2.1", { drain: "cordoned" })],
    });
    expect(set.targets.map(({ id }) => id)).toEqual(["first"]);
    expect(set.origins.get("first")?.origins).toEqual(["config", "k8s"]);
    expect([...set.drains]).toEqual([["first", "cordoned"]]);
  });

  test("take another address of the same id in", () => {
    const set = setOf({
      written: [written("cp1", "192.0.2.1")],
      learned: [learned("cp1", "192.0.2.9", { isProven: false })],
    });
    expect(set.targets).toMatchObject([{ id: "cp1", addresses: ["192.0.2.1", "192.0.2.9"], unproven: ["192.0.2.9"] }]);
  });

  test("leave a target alone that is switched off, or probed elsewhere", () => {
    const off = { ...written("cp1", "192.0.2.1"), disabled: true };
    const nat = { ...written("cp2", "192.0.2.2"), probe: { address: "10.0.0.2" } };
    const set = setOf({ written: [off, nat], learned: [learned("cp1", "192.0.2.8"), learned("cp2", "192.0.2.9")] });
    expect(set.targets).toEqual([off, nat]);
  });

  test("are no more than maxTargets: those that serve stay, then those that are proposed and have passed", () => {
    const set = setOf({
      written: [written("w", "192.0.2.1")],
      maxTargets: 3,
      learned: [
        learned("new", "192.0.2.2", { isProven: false }),
        learned("old", "192.0.2.3"),
        learned("gone-up", "192.0.2.4", { goneSinceMs: 1 }),
        learned("gone", "192.0.2.5", { goneSinceMs: 1 }),
      ],
      healthOf: (address) => (address === "192.0.2.4" ? { health: "up", sinceMs: 0 } : undefined),
    });
    expect(set.targets.map(({ id }) => id)).toEqual(["w", "gone-up", "old"]);
    expect(set.ignored).toBe(2);
    expect(set.notices.map(({ text }) => text)).toEqual([expect.stringContaining("maxTargets is 3")]);
  });

  test("keep no more than the newest of the addresses that are gone, and those that pass", () => {
    const old = Array.from({ length: 9 }, (_, i) => learned("cp1", `192.0.2.${i}`, { goneSinceMs: i + 1 }));
    const set = setOf({
      learned: [learned("cp1", "192.0.2.99"), ...old],
      healthOf: (address) => (address === "192.0.2.0" ? { health: "up", sinceMs: 0 } : undefined),
    });
    const left = ["192.0.2.99", "192.0.2.0", "192.0.2.5", "192.0.2.6", "192.0.2.7", "192.0.2.8"];
    expect(set.targets[0]?.addresses).toEqual(left);
    expect(set.kept.map(({ address }) => address)).toEqual(left);
  });

  test("count what was not looked at among those that are left out", () => {
    const set = setOf({ learned: [learned("a", "192.0.2.1")], skipped: 9_000 });
    expect(set.ignored).toBe(9_000);
    expect(set.notices.map(({ text }) => text)).toEqual([expect.stringContaining("there are 9001 targets")]);
  });

  test("never lose one that is written", () => {
    expect(ids({ written: [written("a", "192.0.2.1"), written("b", "192.0.2.2")], maxTargets: 1 })).toEqual(["a", "b"]);
  });

  test("leave out what the zone has no room for", () => {
    const set = setOf({ learned: [learned("a", "192.0.2.1")], conflict: () => "a.api has a record of its own" });
    expect(set.targets).toEqual([]);
    expect(set.notices).toMatchObject([{ text: expect.stringContaining("record of its own") }]);
  });

  test("know since when no source proposes them", () => {
    const set = setOf({ learned: [learned("a", "192.0.2.1", { goneSinceMs: 7 })] });
    expect(set.origins.get("a")).toEqual({ origins: ["k8s"], goneSinceMs: 7 });
  });
});
