/** Results: one line of JSON for each round that was played, so that a run that is stopped can go on. */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** Rounds of a file, oldest first; a line that was cut off by a crash is left out. */
export function readRounds(file) {
  if (!existsSync(file)) return [];
  return parseRounds(readFileSync(file, "utf8"));
}

export function parseRounds(text) {
  return text.split("\n").flatMap((line) => {
    try {
      return line === "" ? [] : [JSON.parse(line)];
    } catch {
      return [];
    }
  });
}

export function addRound(file, round) {
  mkdirSync(path.dirname(file), { recursive: true });
  appendFileSync(file, `${JSON.stringify(round)}\n`);
}
