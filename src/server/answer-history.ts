import type { Answerable } from "../health/answerable.js";
import type { Subscriber } from "./events.js";

/** How far back the history goes, milliseconds: a day. */
export const ANSWER_HISTORY_MS = 24 * 3600 * 1000;

/** Changes kept for one endpoint, whatever their age: one that flaps all day must not fill the memory. */
export const KEPT_CHANGES = 200;

/** From one moment on, an endpoint answered so many addresses. */
export interface AnswerChange {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly addresses: number;
  readonly mode: Answerable["mode"];
}

/** How many addresses each endpoint answered in the last day. */
export class AnswerHistory {
  readonly #changes = new Map<string, AnswerChange[]>();

  /** @param fqdn of the endpoint */
  add(fqdn: string, change: AnswerChange): void {
    const changes = this.#changes.get(fqdn);
    if (changes === undefined) this.#changes.set(fqdn, [change]);
    else {
      changes.push(change);
      // The newest of the old ones tells the state with which the day began.
      while (changes.length > KEPT_CHANGES || (changes[1]?.atMs ?? Infinity) < change.atMs - ANSWER_HISTORY_MS)
        changes.shift();
    }
  }

  /** Oldest first. */
  of(fqdn: string): readonly AnswerChange[] {
    return this.#changes.get(fqdn) ?? [];
  }

  /** Forgets the endpoints for which `isKept` is false. */
  prune(isKept: (fqdn: string) => boolean): void {
    for (const fqdn of this.#changes.keys()) if (!isKept(fqdn)) this.#changes.delete(fqdn);
  }

  /** Subscriber that keeps the history of what is served. */
  subscriber(): Subscriber {
    const entry = ({ addresses, mode }: Answerable, atMs: number): AnswerChange => ({
      atMs,
      addresses: addresses.length,
      mode,
    });
    return {
      ready: ({ endpoints }, atMs) => {
        for (const { config, answerable } of endpoints) this.add(config.fqdn, entry(answerable, atMs));
      },
      "answers-changed": ({ endpoint: { config, answerable } }, atMs) => this.add(config.fqdn, entry(answerable, atMs)),
      "zones-replaced": ({ config }) => {
        const there = new Set(config.zones.flatMap(({ endpoints }) => endpoints.map(({ fqdn }) => fqdn)));
        this.prune((fqdn) => there.has(fqdn));
      },
    };
  }
}
