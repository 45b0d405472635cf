import type { Verdict } from "./parse-result.js";

const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;

/** What a duration looks like, for the JSON Schema. */
export const DURATION_PATTERN = "^[0-9]+(\\.[0-9]+)?(ms|s|m|h)$";

/**
 * Milliseconds of a duration such as `500ms`, `1.5s`, `2m`, `1h`; a whole number of milliseconds, at least 0.
 *
 * A bare number is refused: nobody can tell whether `5` was meant as seconds or milliseconds.
 */
export function parseDuration(value: unknown): Verdict<number> {
  if (typeof value === "number" || (typeof value === "string" && /^\s*[0-9]+(\.[0-9]+)?\s*$/.test(value))) {
    const amount = String(value).trim();
    return {
      why: "a duration needs a unit",
      remedy: `Write "${amount}s" for seconds or "${amount}ms" for milliseconds.`,
      code: "CONFIG_DURATION_UNIT",
    };
  }
  const match = typeof value === "string" ? /^([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)$/.exec(value) : null;
  if (match === null) {
    return {
      why: "that is not a duration",
      remedy: 'Write a number and its unit (ms, s, m or h) without a space, such as "500ms", "5s" or "2m".',
      code: "CONFIG_DURATION",
    };
  }
  const ms = Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS];
  // Tenths of a second are not exact in binary; anything that is not a whole millisecond beyond that was meant so.
  const whole = Math.round(ms);
  if (!Number.isSafeInteger(whole) || Math.abs(ms - whole) > 1e-6) {
    return {
      why: "durations are whole milliseconds",
      remedy: `Write "${formatDuration(Number.isSafeInteger(whole) ? Math.max(1, whole) : 3_600_000)}".`,
      code: "CONFIG_DURATION",
    };
  }
  return { value: whole };
}

/** The shortest text that {@link parseDuration} reads back as `ms` (a whole number, at least 0): `1500ms`, `2m`. */
export function formatDuration(ms: number): string {
  for (const unit of ["h", "m", "s"] as const) {
    if (ms !== 0 && ms % UNIT_MS[unit] === 0) return `${ms / UNIT_MS[unit]}${unit}`;
  }
  return `${ms}ms`;
}
