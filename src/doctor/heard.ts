import type { Heard } from "./facts.js";

/** The addresses in the answer section. */
export function addressesIn(heard: Heard): string[] {
  if (!("reply" in heard)) return [];
  return heard.reply.answers.flatMap(({ address }) => (address === undefined ? [] : [address]));
}

/** `NOERROR`, `SERVFAIL`, …; undefined if nothing came back. */
export function rcodeOf(heard: Heard): string | undefined {
  return "reply" in heard ? heard.reply.rcode : undefined;
}
