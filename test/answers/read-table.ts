import type { CompiledAnswer } from "../../src/answers/answer.js";
import { ANSWER } from "../../src/answers/codec.js";
import { LookupName } from "../../src/answers/lookup-name.js";
import type { AnswerTable } from "../../src/answers/table.js";
import { type Name, parseName } from "../../src/wire/name.js";

/** A name as a query brings it. */
export function lookupName(text: string): LookupName {
  return lookupOf(parseName(text).toLowerCase() as Name);
}

/** The same for a name in wire form. */
export function lookupOf(name: Name): LookupName {
  const lookup = new LookupName();
  lookup.set(name);
  return lookup;
}

/** The answer that stands at an offset of a table, as it was compiled. */
export function readForm({ answers, octets }: AnswerTable, at: number): CompiledAnswer {
  const word = (field: keyof typeof ANSWER): number => answers[at + ANSWER[field]] as number;
  const bodyEnd = word("bodyAt") + word("bodyLength");
  const pointers = Array.from({ length: word("pointerCount") }, (_, i) => {
    const offset = bodyEnd + 2 * i;
    return ((octets[offset] as number) << 8) | (octets[offset + 1] as number);
  });
  return {
    flags: word("flags"),
    answerCount: word("answerCount"),
    authorityCount: word("authorityCount"),
    additionalCount: word("additionalCount"),
    body: octets.slice(word("bodyAt"), bodyEnd),
    baseLength: word("baseLength"),
    pointers,
    serialAt: word("serialAt"),
    requiredLength: word("requiredLength"),
    requiredAdditional: word("requiredAdditional"),
    rotationAt: word("rotationAt"),
    rotationCount: word("rotationCount"),
    rotationStride: word("rotationStride"),
    rotationSent: word("rotationSent"),
  };
}

/** What a table answers a question, `undefined` out of every zone. */
export function answerTo(
  table: AnswerTable,
  name: Name,
  type: number,
  site = 0,
  dnssecOk = false,
): CompiledAnswer | undefined {
  return table.find(lookupOf(name), type, site, dnssecOk) ? readForm(table, table.found) : undefined;
}
