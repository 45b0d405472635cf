import type { Asker, Heard, Question } from "./facts.js";

/**
 * Asks once more where nothing came back: a server may turn away a TCP connection because it has enough of them at the
 * moment (Unbound takes 10 by default), which says nothing of the next one.
 */
export async function askTwice(ask: Asker, question: Question): Promise<Heard> {
  const heard = await ask(question);
  return "reply" in heard ? heard : ask(question);
}
