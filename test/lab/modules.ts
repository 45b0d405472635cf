/** What the lab's pure modules export, as far as the tests use it. */
import { root } from "../house-rules/source.js";

export interface Told {
  readonly at: number;
  readonly took: number;
  readonly error?: string;
  readonly unready?: string;
}

export interface ClientFigures {
  readonly isOpen: boolean;
  readonly last: number;
  readonly failed: number;
  readonly slowed: number;
  readonly unready: number;
  readonly before: number;
  readonly total: number;
}

export interface View {
  readonly at: number;
  readonly server: string;
  readonly addresses: readonly string[];
}

export interface Observed {
  readonly from: number;
  readonly to: number;
  readonly all: readonly string[];
  readonly mayMiss: "none" | "victim" | "one" | "all";
  readonly victim: string;
}

export interface Block {
  readonly way: string;
  readonly round: number;
  readonly faults: readonly string[];
}

export interface Plan {
  readonly ways: readonly string[];
  readonly faults: readonly { readonly id: string; readonly isLast?: boolean }[];
  readonly rounds: number;
  readonly done: ReadonlySet<string>;
  readonly random: () => number;
}

export interface ClientCell {
  readonly samples: readonly number[];
  readonly median: number;
  readonly worst: number;
  readonly failed: number;
  readonly slowed: number;
}

export type Cell = { readonly rounds: number; readonly spoilt: number; readonly withdrawals: number } & Readonly<
  Record<"all" | "curl" | "fresh" | "single" | "lasting" | "node", ClientCell>
>;

export interface Summary {
  readonly rounds: number;
  readonly cells: Readonly<Record<string, Readonly<Record<string, Cell>>>>;
  readonly costs: Readonly<Record<string, object>>;
  readonly absent: Readonly<Record<string, object>>;
}

export interface Verdict {
  readonly name: string;
  readonly isMet: boolean | undefined;
  readonly said: string;
}

/** Imports a module of the lab; what it exports is said by the caller. */
export async function labModule<T>(name: string): Promise<T> {
  return (await import(`${root}lab/${name}.mjs`)) as T;
}

/** One client of a round in which nothing went wrong, or what `figures` say. */
export function client(figures: Partial<ClientFigures> = {}): ClientFigures {
  return { last: 0, failed: 0, slowed: 0, unready: 0, before: 0, isOpen: false, total: 100, ...figures };
}

/** One round, as the store has it. */
export function roundOf(way: string, fault: string, round: number, figures: Partial<ClientFigures> = {}) {
  const ids = ["curl", "fresh", "single", "lasting", "node"];
  const clients = Object.fromEntries(ids.map((id) => [id, client(figures)]));
  return { way, fault, round, at: `2026-12-03T10:00:0${round}Z`, copies: 4, load: 1, clients, withdrawals: 0 };
}
