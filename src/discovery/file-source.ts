import { readFile, stat } from "node:fs/promises";
import { isMap, isScalar, parseDocument, visit } from "yaml";
import type { FileSourceConfig } from "../config/discovery.js";
import type { Clock, Timer } from "../lib/clock.js";
import { codeOf, messageOf } from "../lib/errors.js";
import { quoted } from "./learn.js";
import type { Candidate, Source, SourceListener } from "./source.js";

/** Milliseconds between two looks. Looking works on every file system, which being notified does not. */
const LOOK_EVERY_MS = 250;

/** Largest file, octets: a thousand targets are under 100 KiB. */
const MAX_OCTETS = 1024 * 1024;

/** Largest file that is not JSON, characters: YAML is parsed a hundred times more slowly, and nothing else runs meanwhile. */
const MAX_YAML_LENGTH = 128 * 1024;

/** A file that a program writes: it is read when it has been left alone for one look. */
export class FileSource implements Source {
  readonly #config: FileSourceConfig;
  readonly #clock: Clock;
  #listener: SourceListener | undefined;
  #timer: Timer | undefined;
  /** What the file looked like at the last look, and when it was last read. */
  #seen = "";
  #read = "";
  #isTroubled = false;

  constructor(config: FileSourceConfig, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
  }

  start(listener: SourceListener): void {
    this.#listener = listener;
    void this.#look();
  }

  stop(): void {
    this.#listener = undefined;
    this.#timer?.cancel();
  }

  async #look(): Promise<void> {
    const mark = await markOf(this.#config.path);
    // A file that does not change between two looks is not being written; links are followed, so that a swap shows.
    const isQuiet = mark === this.#seen;
    this.#seen = mark;
    if (isQuiet && mark !== this.#read) await this.#take(mark);
    else if (isQuiet && !this.#isTroubled) this.#listener?.confirmed();
    if (this.#listener === undefined) return;
    this.#timer = this.#clock.after(LOOK_EVERY_MS, () => void this.#look());
  }

  async #take(mark: string): Promise<void> {
    const { path } = this.#config;
    const outcome = await candidatesIn(path);
    // Changed while it was read: the next look sees that.
    if ((await markOf(path)) !== mark) return;
    this.#read = mark;
    this.#isTroubled = "problem" in outcome;
    if ("problem" in outcome) this.#listener?.failed({ problem: outcome.problem, needsOperator: true });
    else this.#listener?.proposed(outcome.candidates, []);
  }
}

/** Differs when the file was changed or replaced. */
async function markOf(path: string): Promise<string> {
  try {
    const { mtimeMs, ctimeMs, ino, size } = await stat(path);
    return `${mtimeMs} ${ctimeMs} ${ino} ${size}`;
  } catch (error) {
    return `cannot be read: ${codeOf(error)}`;
  }
}

type Outcome = { readonly candidates: readonly Candidate[] } | { readonly problem: string };

async function candidatesIn(path: string): Promise<Outcome> {
  try {
    const about = await stat(path);
    if (!about.isFile()) return { problem: `${path} is not a regular file` };
    if (about.size > MAX_OCTETS) return { problem: `${path} has ${about.size} octets, more than ${MAX_OCTETS}` };
    return readCandidates(await readFile(path, "utf8"), path);
  } catch (error) {
    const problem = codeOf(error) === "ENOENT" ? `there is no file ${path}` : `${path}: ${messageOf(error)}`;
    return { problem };
  }
}

/**
 * The candidates that a file lists, or what is wrong with it.
 *
 * @param path for messages
 */
export function readCandidates(text: string, path: string): Outcome {
  try {
    return { candidates: candidatesOf(text) };
  } catch (error) {
    return { problem: `${path}: ${messageOf(error)}` };
  }
}

/** @throws Error with one clause about what is wrong */
function candidatesOf(text: string): Candidate[] {
  if (text.trim() === "") throw new Error("it is empty (write {} for no targets)");
  // Maps, not objects: an id may be called __proto__.
  const data = readStrictly(text);
  if (!(data instanceof Map)) throw new Error(NO_MAPPING);
  const inner = data.get("targets");
  // `targets` is the mapping of all, unless it is a target of that name.
  const isWrapped = data.size === 1 && inner instanceof Map && !inner.has("addresses");
  return [...(isWrapped ? inner : data)].map(([id, value]) => candidateOf(id, value));
}

const NO_MAPPING = 'it is no mapping of ids to addresses, such as {"cp1": "192.0.2.11"}';

/** Mappings as Maps; strict, so that half a file is an error wherever it shows. @throws Error */
function readStrictly(text: string): unknown {
  const json = readJson(text);
  if (json !== undefined) return json;
  if (text.length > MAX_YAML_LENGTH) {
    throw new Error(`it is no JSON, and too large for YAML: ${text.length} characters, more than ${MAX_YAML_LENGTH}`);
  }
  // The parser compares each key with all others before it, which takes seconds for thousands of them.
  const document = parseDocument(text, { version: "1.2", uniqueKeys: false, stringKeys: true });
  const [error] = document.errors;
  if (error !== undefined) throw new Error(error.message.split("\n")[0]);
  visit(document, {
    Map(_, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        const name = isScalar(key) ? key.value : key;
        if (seen.has(name)) throw new Error(`${quoted(String(name))} is there twice`);
        seen.add(name);
      }
    },
  });
  return isMap(document.contents) ? document.toJS({ mapAsMap: true, maxAliasCount: 100 }) : undefined;
}

/** Undefined for what is no JSON, or has a key twice, which the YAML parser names. */
function readJson(text: string): unknown {
  let keys = 0;
  try {
    const value: unknown = JSON.parse(text, (_, one: unknown) => {
      if (typeof one !== "object" || one === null || Array.isArray(one)) return one;
      const entries = Object.entries(one);
      keys += entries.length;
      return new Map(entries);
    });
    // In valid JSON, a string before a colon is a key.
    const written = text.match(/"(?:[^"\\]|\\.)*"\s*:/g)?.length ?? 0;
    return written === keys ? value : undefined;
  } catch {
    return undefined;
  }
}

/** @throws Error with one clause about what is wrong */
function candidateOf(id: unknown, value: unknown): Candidate {
  const called = quoted(String(id));
  if (typeof id !== "string" || id === "") throw new Error(`${called} is no id`);
  if (!(value instanceof Map)) return { id, addresses: addressesOf(called, value) };
  const unknown = [...value.keys()].find((key) => key !== "addresses" && key !== "port");
  if (unknown !== undefined)
    throw new Error(`${called} has ${quoted(String(unknown))}, but only addresses and port are known`);
  const port: unknown = value.get("port");
  if (port === undefined) return { id, addresses: addressesOf(called, value.get("addresses")) };
  if (typeof port !== "number" || !Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new Error(`the port of ${called} is ${quoted(String(port))}, which is no number from 1 to 65535`);
  }
  return { id, addresses: addressesOf(called, value.get("addresses")), port };
}

/** @throws Error with one clause about what is wrong */
function addressesOf(called: string, value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (!Array.isArray(value))
    throw new Error(`${called} has no address: write one in quotation marks, or a list of them`);
  if (value.length === 0) throw new Error(`the list of addresses of ${called} is empty: leave ${called} out instead`);
  const other: unknown = value.find((one) => typeof one !== "string");
  if (other !== undefined) throw new Error(`${called} has ${quoted(String(other))} in its list, which is no address`);
  return value;
}
