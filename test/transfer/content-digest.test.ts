import fc from "fast-check";
import { expect, test } from "vitest";
import { contentDigest } from "../../src/transfer/content-digest.js";
import { presentRecords } from "../../src/transfer/journal.js";
import { RUN_SEED } from "../support/random.js";
import { answerWith, apply, configured, line, liveZone, steps } from "./zones.js";

test("zones with the same records have the same digest, whatever led to them, and others have another", () => {
  const seen = new Map<string, string>();
  const all = fc.array(steps, { maxLength: 5 });
  fc.assert(
    fc.property(all, (made) => {
      const live = liveZone();
      for (const step of made) apply(live, step);
      const refresh = live.zone.soa.refresh;
      const content = [`refresh ${refresh}`, ...presentRecords(live).map(line).sort()].join("\n");
      const digest = contentDigest(live);
      expect(digest).toMatch(/^[0-9a-f]{16}$/);
      expect(seen.get(content) ?? digest).toBe(digest);
      seen.set(content, digest);
    }),
    { seed: RUN_SEED },
  );
  expect(new Set(seen.values()).size).toBe(seen.size);
});

test("the serial, and the order of records, do not count", () => {
  const live = liveZone();
  const digest = contentDigest(live);
  live.raise(live.serial + 100, 0);
  expect(contentDigest(live)).toBe(digest);
  answerWith(live, ["cp1"]);
  expect(contentDigest(live)).not.toBe(digest);
  answerWith(live, ["cp4", "cp3", "cp2", "cp1"]);
  expect(contentDigest(live)).toBe(contentDigest(liveZone(configured())));
});
