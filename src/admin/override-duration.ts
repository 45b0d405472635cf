import { parseDuration } from "../config/duration.js";
import { MAX_OVERRIDE_MS } from "../health/override-refusals.js";

/** Shortest and longest time an override may be given, milliseconds: 1 s to 30 days. */
const FOR_MS = { min: 1_000, max: MAX_OVERRIDE_MS } as const;

/**
 * How long an override is to hold, as the API and `--for` take it: a duration such as `30m`, 1 s to 30 days.
 *
 * @returns milliseconds, or in a sentence what is wrong and what to write
 */
export function parseLasting(text: string): { readonly ms: number } | { readonly why: string } {
  const verdict = parseDuration(text);
  if (!("value" in verdict)) return { why: `${verdict.why}. ${verdict.remedy}` };
  if (verdict.value >= FOR_MS.min && verdict.value <= FOR_MS.max) return { ms: verdict.value };
  return { why: 'the least is 1s and the most 720h (30 days). Write a duration such as "30m".' };
}
