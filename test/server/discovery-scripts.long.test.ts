import { test } from "vitest";
import { RUN_SEED } from "../support/random.js";
import { runScript } from "./discovery-script.js";

/** Others in each run; `LIVEZONE_TEST_SEED` makes them the same. */
const SCRIPTS = Array.from({ length: 100 }, (_, index) => ({ seed: (RUN_SEED % 1_000_000) * 100 + index }));

test.each(SCRIPTS)("random script $seed of joins, leaves and outages", ({ seed }) => runScript(seed));
