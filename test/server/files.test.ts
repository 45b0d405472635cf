import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadBatch } from "../../src/transport/batch/load.js";
import { REFUSED, ruinBeforeTakeover, ruinWhileCutOff, ruinWhileItRuns } from "./ruin-situations.js";
import { Place, RUINS, reload } from "./ruined-files.js";

// Each situation with some of the ruins; files.long.test.ts has the whole product.
describe("a file that is ruined", { timeout: 90_000 }, () => {
  test.concurrent.for(["unreadable", "1 GiB"] as const)(
    "while the server runs ends nothing and changes no answer: %s",
    (how) => ruinWhileItRuns(how),
  );

  test.concurrent.for(["garbage"] as const)(
    "while the prober is cut off ends nothing, and the answers are held: %s",
    (how) => ruinWhileCutOff(how),
  );

  const takeovers = loadBatch().transport === undefined ? test.concurrent.skip : test.concurrent;
  takeovers.for(["empty"] as const)("before a takeover keeps a successor away, or is set aside by it: %s", (how) =>
    ruinBeforeTakeover(how, ["livezone.yaml", "ca.crt"]),
  );

  test.concurrent.for(["unreadable", "empty", "a folder"] as const)(
    "and is a folder of zones takes no zone away: %s",
    async (how) => {
      const place = await Place.make();
      const livezone = await place.start();
      RUINS[how](join(livezone.folder, "zones"));
      expect(await reload(livezone)).toBe(REFUSED);
      expect(await place.answers()).toEqual(place.whole);
      place.mend(livezone);
      expect(await reload(livezone)).toBe("configuration reloaded");
      expect(await livezone.stop()).toMatchObject({ code: 0 });
    },
  );
});
