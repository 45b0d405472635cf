import type { Candidate, SourceNotice } from "../source.js";
import type { ReadObject, Resource } from "./resources.js";

/** Most objects that are kept: four times the largest clusters. */
export const MAX_OBJECTS = 20_000;

/** Most pages of one list that are asked for: a server that always promises another one must not be followed for ever. */
export const MAX_PAGES = 2_000;

/** What a watch says of one object. */
export type WatchEvent =
  | { readonly kind: "changed" }
  | { readonly kind: "same" }
  /** The server cannot go on from where the watch began. */
  | { readonly kind: "gone" }
  | { readonly kind: "error"; readonly problem: string; readonly status?: number }
  | { readonly kind: "nonsense" };

/** The objects of one collection as they are now, reduced to what candidates are made of. */
export class KnownObjects {
  readonly #resource: Resource;
  #objects = new Map<string, ReadObject>();
  /** Of a list that is being read, page by page. */
  #next: Map<string, ReadObject> | undefined;
  #pages = 0;
  #oddities = new Map<string, string>();
  /** Where a watch goes on. */
  resourceVersion = "";

  constructor(resource: Resource) {
    this.#resource = resource;
  }

  beginList(): void {
    this.#next = new Map();
    this.#pages = 0;
    this.#oddities = new Map();
  }

  /** Takes one page. @returns how to ask for the next: undefined after the last; `problem` if it is no list */
  takePage(json: unknown): { readonly next?: string } | { readonly problem: string } {
    const next = this.#next ?? new Map<string, ReadObject>();
    if (!isRecord(json) || !(Array.isArray(json.items) || json.items === null)) {
      return { problem: "what came is no list of objects" };
    }
    for (const item of json.items ?? []) {
      const read = this.#read(item);
      if (read === undefined) this.#oddities.set("OBJECT", "an object of the list makes no sense: it is left out");
      else if (next.size < MAX_OBJECTS || next.has(read.name)) next.set(read.name, read);
      else this.#oddities.set("MANY", `the list has more than ${MAX_OBJECTS} objects: the rest is left out`);
    }
    const { continue: token, resourceVersion } = isRecord(json.metadata) ? json.metadata : {};
    this.#pages += 1;
    if (typeof token === "string" && token !== "") {
      if (this.#pages < MAX_PAGES && next.size < MAX_OBJECTS) return { next: token };
      this.#oddities.set(
        "PAGES",
        `the list goes on after ${this.#pages} pages and ${next.size} objects: the rest is left out`,
      );
    }
    if (typeof resourceVersion !== "string" || resourceVersion === "") return { problem: "the list has no version" };
    this.#objects = next;
    this.#next = undefined;
    this.resourceVersion = resourceVersion;
    return {};
  }

  /** Takes one line of a watch. */
  takeLine(line: string): WatchEvent {
    let event: unknown;
    try {
      event = JSON.parse(line);
    } catch {
      return { kind: "nonsense" };
    }
    if (!isRecord(event)) return { kind: "nonsense" };
    const { type, object } = event;
    if (type === "ERROR") return errorOf(object);
    const metadata = isRecord(object) && isRecord(object.metadata) ? object.metadata : {};
    const { resourceVersion } = metadata;
    if (typeof resourceVersion === "string" && resourceVersion !== "") this.resourceVersion = resourceVersion;
    if (type === "BOOKMARK") return { kind: "same" };
    const read = this.#read(object);
    if (read === undefined) return this.tell("OBJECT", "an object of the watch makes no sense: it is left out");
    if (type === "DELETED") return { kind: this.#objects.delete(read.name) ? "changed" : "same" };
    if (type !== "ADDED" && type !== "MODIFIED") return { kind: "same" };
    const before = this.#objects.get(read.name);
    if (before === undefined && this.#objects.size >= MAX_OBJECTS) {
      return this.tell("MANY", `there are more than ${MAX_OBJECTS} objects: the rest is left out`);
    }
    this.#objects.set(read.name, read);
    return { kind: JSON.stringify(before) === JSON.stringify(read) ? "same" : "changed" };
  }

  /** Notes something odd, to be told once. */
  tell(key: string, text: string): WatchEvent {
    const isNew = !this.#oddities.has(key);
    this.#oddities.set(key, text);
    return { kind: isNew ? "changed" : "same" };
  }

  /** Everything that is proposed now. */
  candidates(): readonly Candidate[] {
    return [...this.#objects.values()].flatMap(({ candidates }) => candidates);
  }

  notices(): readonly SourceNotice[] {
    const oddities = [...this.#oddities].map(([key, text]) => ({ key, text }));
    return [...oddities, ...[...this.#objects.values()].flatMap(({ notices }) => notices)];
  }

  #read(object: unknown): ReadObject | undefined {
    try {
      return this.#resource.read(object);
    } catch {
      return undefined;
    }
  }
}

/** A Status object of the API in place of an event. */
function errorOf(status: unknown): WatchEvent {
  const { code, message } = isRecord(status) ? status : {};
  if (code === 410) return { kind: "gone" };
  const problem = `the watch ended with an error${typeof message === "string" ? `: ${message.slice(0, 200)}` : ""}`;
  return { kind: "error", problem, ...(typeof code === "number" ? { status: code } : {}) };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
