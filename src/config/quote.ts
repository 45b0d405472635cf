import type { Path } from "./positions.js";

/** A value longer than this is cut in messages, in characters: one terminal line. */
const MAX_QUOTED_CHARACTERS = 80;

/**
 * Characters that JSON leaves alone and that would move the cursor or turn the direction of text in a terminal, show
 * nothing, or look like a space.
 */
const INVISIBLE = /[\u007f-\u00a0\u00ad\u2000-\u200f\u2028-\u202f\u205f\u2060\u2066-\u2069\u3000\ufeff]/g;

/**
 * A value the user wrote, as messages show it: strings as JSON, cut at {@link MAX_QUOTED_CHARACTERS}; numbers and
 * booleans bare; collections by their kind, because their content says nothing that the position does not.
 */
export function quote(value: unknown): string {
  if (typeof value === "string") {
    const characters = [...value];
    const kept = characters.slice(0, MAX_QUOTED_CHARACTERS).join("");
    const text = JSON.stringify(kept).replace(
      INVISIBLE,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
    return characters.length > MAX_QUOTED_CHARACTERS ? `${text.slice(0, -1)}…"` : text;
  }
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "a mapping";
  return String(value);
}

/** A place in a file as messages name it: `endpoints.api.targets.cp3[1]`; keys with other characters are quoted. */
export function formatPath(path: Path): string {
  let text = "";
  for (const key of path) {
    if (typeof key === "number") text += `[${key}]`;
    else if (/^[\w@-]{1,80}$/.test(key)) text += text === "" ? key : `.${key}`;
    else text += `[${quote(key)}]`;
  }
  return text;
}
