import { readFile, stat } from "node:fs/promises";
import { parseDocument } from "yaml";
import { z } from "zod";
import type { FileSourceConfig } from "../config/discovery.js";
import type { Clock, Timer } from "../lib/clock.js";
import { codeOf, messageOf } from "../lib/errors.js";
import type { Candidate, Source, SourceListener } from "./source.js";

/** Milliseconds between two looks. Looking works on every file system, which being notified does not. */
const LOOK_EVERY_MS = 250;

/** Largest file, octets: a thousand targets are under 100 KiB. */
const MAX_OCTETS = 1024 * 1024;

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

const addresses = z.union([z.string(), z.array(z.string()).min(1)]);

/** Addresses by id, or the long form; either may stand below `targets`. */
const targets = z.record(
  z.string().min(1),
  z.union([addresses, z.strictObject({ addresses, port: z.int().min(1).max(65_535).optional() })]),
);
const content = z.union([z.strictObject({ targets }), targets]);

/**
 * The candidates that a file lists, or what is wrong with it.
 *
 * @param path for messages
 */
export function readCandidates(text: string, path: string): Outcome {
  if (text.trim() === "") return { problem: `${path} is empty (write {} for no targets)` };
  // JSON is YAML; strict, so that half a file is an error wherever it shows.
  const document = parseDocument(text, { version: "1.2", uniqueKeys: true, stringKeys: true });
  const [error] = document.errors;
  if (error !== undefined) return { problem: `${path}: ${error.message.split("\n")[0]}` };
  let data: unknown;
  try {
    data = document.toJS({ maxAliasCount: 100 });
  } catch (cause) {
    return { problem: `${path}: ${messageOf(cause)}` };
  }
  const parsed = content.safeParse(data);
  if (!parsed.success) {
    const where = parsed.error.issues[0]?.path.join(".") ?? "";
    return {
      problem: `${path}: ${where === "" ? "" : `${where}: `}it is no mapping of ids to addresses, such as {"cp1": "192.0.2.11"}`,
    };
  }
  const map = "targets" in parsed.data && isMapping(parsed.data.targets) ? parsed.data.targets : parsed.data;
  return { candidates: Object.entries(map as z.output<typeof targets>).map(([id, value]) => candidateOf(id, value)) };
}

/** Whether `targets` is the mapping of all, and not a target of that name. */
function isMapping(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !("addresses" in value);
}

function candidateOf(id: string, value: z.output<typeof targets>[string]): Candidate {
  if (typeof value === "string") return { id, addresses: [value] };
  if (!("addresses" in value)) return { id, addresses: value };
  const { port } = value;
  const list = typeof value.addresses === "string" ? [value.addresses] : value.addresses;
  return { id, addresses: list, ...(port === undefined ? {} : { port }) };
}
