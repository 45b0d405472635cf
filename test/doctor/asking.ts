import type { Asker, Heard, Question } from "../../src/doctor/facts.js";
import { silence } from "./replies.js";

/**
 * What comes back, by `name type`, or `name type @address` for one server; of a list one after the other, the last again
 * and again. With `tcp name type` what comes back over TCP, where that differs.
 */
export type Script = Readonly<Record<string, Heard | readonly Heard[]>>;

/** An asker that answers from a script, and with silence where that has nothing. */
export function scripted(script: Script): { readonly ask: Asker; readonly asked: readonly Question[] } {
  const asked: Question[] = [];
  const used = new Map<string, number>();
  const ask: Asker = async (question) => {
    asked.push(question);
    const { name, type, server, transport } = question;
    const plain = `${name} ${type}`;
    const keys = [`${plain} @${server.address}`, plain];
    const all = transport === "tcp" ? [...keys.map((key) => `tcp ${key}`), ...keys] : keys;
    const key = all.find((one) => Object.hasOwn(script, one));
    const heard = key === undefined ? silence : (script[key] as Heard | readonly Heard[]);
    if (key === undefined || !Array.isArray(heard)) return heard as Heard;
    const index = used.get(key) ?? 0;
    used.set(key, index + 1);
    return heard[Math.min(index, heard.length - 1)] as Heard;
  };
  return { ask, asked };
}

/** A question as its script names it. */
export function told({ name, type, server, transport, checkingDisabled }: Question): string {
  const marks = [...(transport === "tcp" ? ["tcp"] : []), ...(checkingDisabled === true ? ["cd"] : [])];
  return [...marks, name, type, `@${server.address}`].join(" ");
}
