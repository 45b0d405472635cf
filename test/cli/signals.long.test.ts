import { describe, test } from "vitest";
import { loadBatch } from "../../src/transport/batch/load.js";
import * as situations from "./signal-situations.js";
import { ENDING, STOPPING } from "./signal-situations.js";

describe("a server on its own", () => {
  test.concurrent.for(ENDING)("is ended by %s, and the next one can start at once", situations.endAndStartAgain);

  test.concurrent.for(STOPPING)("ends with code 0 while it reloads by %s", situations.stopWhileItReloads);

  test.concurrent.for(STOPPING)("ends with code 0 while it starts by %s", situations.stopWhileItStarts);
});

describe.skipIf(loadBatch().transport === undefined)("a takeover", () => {
  test.concurrent.for(STOPPING)("goes on when the one that leaves is asked to stop by %s", situations.stopTheLeaving);

  test.concurrent.for(STOPPING)(
    "ends both when %s stops the successor that has the port already",
    situations.stopTheSuccessor,
  );

  test.concurrent.for([...STOPPING, "SIGKILL"] as const)(
    "leaves the server alone when %s ends the successor before it has the port",
    situations.endTheSuccessorEarly,
  );
});
