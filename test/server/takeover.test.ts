import { describe, expect, test } from "vitest";
import { loadBatch } from "../../src/transport/batch/load.js";
import { afterThisTest } from "../support/cleanup.js";
import { takeOverInARow } from "./takeovers.js";

describe.skipIf(loadBatch().transport === undefined)("a takeover", () => {
  test("loses no query, and every reader of events and a drain that is waited for go on", {
    timeout: 90_000,
  }, async () => {
    const { sent, lost, violations, descriptors } = await takeOverInARow(1, afterThisTest);
    expect({ lost, violations }).toEqual({ lost: 0, violations: [] });
    expect(sent).toBeGreaterThan(30);
    expect(descriptors).toHaveLength(1);
  });
});
