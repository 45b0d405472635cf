import { readFileSync } from "node:fs";

/** The version in `package.json`, which lies two folders above this file, in `src/` as in `dist/`. */
export const VERSION: string = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).version;
