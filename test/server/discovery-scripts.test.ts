import { test } from "vitest";
import { RUN_SEED } from "../support/random.js";
import { runScript } from "./discovery-script.js";

/** A few in every run, each time others; a hundred with `npm run test:long`. */
const SCRIPTS = Array.from({ length: 4 }, (_, index) => ({ seed: (RUN_SEED % 1_000_000) * 100 + index }));

test.each(SCRIPTS)("random script $seed of joins, leaves and outages", ({ seed }) => runScript(seed));
