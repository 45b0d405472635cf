import { readFileSync } from "node:fs";
import { installed } from "./installation.js";

/** The version in `package.json`. */
export const VERSION: string = JSON.parse(readFileSync(installed("package.json"), "utf8")).version;
