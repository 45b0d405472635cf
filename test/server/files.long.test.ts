import { describe, test } from "vitest";
import { loadBatch } from "../../src/transport/batch/load.js";
import { ruinBeforeTakeover, ruinWhileCutOff, ruinWhileItRuns } from "./ruin-situations.js";
import { EVERY_RUIN } from "./ruined-files.js";

describe("a file that is ruined", { timeout: 120_000 }, () => {
  test.concurrent.for(EVERY_RUIN)("while the server runs ends nothing and changes no answer: %s", (how) =>
    ruinWhileItRuns(how),
  );

  test.concurrent.for(EVERY_RUIN)("while the prober is cut off ends nothing, and the answers are held: %s", (how) =>
    ruinWhileCutOff(how),
  );

  const takeovers = loadBatch().transport === undefined ? test.concurrent.skip : test.concurrent;
  takeovers.for(EVERY_RUIN)("before a takeover keeps a successor away, or is set aside by it: %s", (how) =>
    ruinBeforeTakeover(how),
  );
});
