import { mkdir, open, readFile, rename, stat } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { type Clock, pause } from "../lib/clock.js";
import { codeOf, messageOf, UserError } from "../lib/errors.js";

/** A file of the state folder that could not be used: to be made loud. */
export interface StateAlarm {
  readonly file: string;
  /** What is wrong with it, one clause. */
  readonly problem: string;
  /** Where it was put so that somebody can look at it; absent if it could not be moved. */
  readonly setAside?: string;
}

/** What a state file holds and how it is told from others. */
export interface StateFileOptions<T> {
  /** The state folder, absolute. Made if it does not exist. */
  readonly folder: string;
  /** Name in it: `overrides.json`. */
  readonly name: string;
  /** Version of the content's form that this program reads and writes. */
  readonly version: number;
  readonly content: z.ZodType<T>;
  /** Readers of older versions, by version: what they make of the content is that of today. */
  readonly older?: Readonly<Record<number, z.ZodType<T>>>;
  readonly clock: Clock;
  onAlarm(alarm: StateAlarm): void;
  /** Largest file that is read, octets. Default 64 MiB: ten thousand targets take about 3 MB. */
  readonly maxOctets?: number;
}

/** One value that outlives the process. */
export interface StateFile<T> {
  /**
   * What was written last; undefined without a file. A file that makes no sense, or that a newer version wrote, is
   * set aside as `<name>.broken-<time>` with an alarm, and counts as none. Never rejects.
   */
  read(): Promise<T | undefined>;
  /**
   * Replaces the content as a whole. When it resolves, the new content survives a crash of the machine; whenever
   * the process dies, the old or the new one is there. Writes happen one after the other; of those that wait, only
   * the newest is made.
   *
   * Rejects with a {@link UserError} `NOT_PERSISTED`.
   */
  write(value: T): Promise<void>;
}

/** See {@link StateFileOptions.maxOctets}. */
const DEFAULT_MAX_OCTETS = 64 * 1024 * 1024;

/** How often a file that is there but cannot be read is tried, and the milliseconds in between. */
const READ_TRIES = 3;
const READ_AGAIN_MS = 100;

/** Reads a file; an error may pass (too many open files, a disk that comes back), and with it a drain would be lost. */
async function readPatiently(file: string, clock: Clock): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await readFile(file, "utf8");
    } catch (error) {
      if (["ENOENT", "EISDIR"].includes(codeOf(error)) || attempt === READ_TRIES) throw error;
      await pause(clock, READ_AGAIN_MS);
    }
  }
}

/** Opens a file of the state folder; nothing is read or made until it is asked for. */
export function openStateFile<T>(options: StateFileOptions<T>): StateFile<T> {
  const file = new FolderFile(options);
  return { read: () => file.read(), write: (value) => file.write(value) };
}

class FolderFile<T> implements StateFile<T> {
  readonly #options: StateFileOptions<T>;
  readonly #file: string;
  #waiting: { readonly value: T; readonly done: Promise<void> } | undefined;
  #busy: Promise<void> = Promise.resolve();

  constructor(options: StateFileOptions<T>) {
    this.#options = options;
    this.#file = path.join(options.folder, options.name);
  }

  async read(): Promise<T | undefined> {
    const { clock, version, content, older = {}, maxOctets = DEFAULT_MAX_OCTETS } = this.#options;
    let text: string;
    try {
      const found = await stat(this.#file);
      // A pipe would be waited for without end.
      if (!found.isFile() && !found.isDirectory()) return await this.#setAside("it is not a regular file");
      const { size } = found;
      if (size > maxOctets) return await this.#setAside(`it has ${size} octets, more than any state file`);
      text = await readPatiently(this.#file, clock);
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      return await this.#setAside(`it cannot be read: ${messageOf(error)}`);
    }
    const found = understand(text, version, { ...older, [version]: content });
    return "problem" in found ? await this.#setAside(found.problem) : found.content;
  }

  write(value: T): Promise<void> {
    if (this.#waiting !== undefined) {
      this.#waiting = { value, done: this.#waiting.done };
      return this.#waiting.done;
    }
    const done = this.#busy.then(async () => {
      const newest = this.#waiting as { readonly value: T };
      this.#waiting = undefined;
      await this.#replace(newest.value);
    });
    this.#waiting = { value, done };
    this.#busy = done.catch(() => undefined);
    return done;
  }

  async #setAside(problem: string): Promise<undefined> {
    const { clock, onAlarm } = this.#options;
    const file = this.#file;
    const aside = `${file}.broken-${new Date(clock.wallMs()).toISOString().replace(/[:.]/g, "")}`;
    try {
      await rename(file, aside);
      onAlarm({ file, problem, setAside: aside });
    } catch {
      onAlarm({ file, problem });
    }
  }

  async #replace(value: T): Promise<void> {
    const { folder, version } = this.#options;
    const temporary = `${this.#file}.tmp`;
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const handle = await open(temporary, "w", 0o600);
      try {
        await handle.writeFile(`${JSON.stringify({ version, content: value }, null, 1)}\n`);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(temporary, this.#file);
      await syncFolder(folder);
    } catch (error) {
      throw new UserError(`cannot write ${this.#file}: ${messageOf(error)}`, "NOT_PERSISTED", { cause: error });
    }
  }
}

type Understood<T> = { readonly content: T } | { readonly problem: string };

function understand<T>(text: string, version: number, readers: Readonly<Record<number, z.ZodType<T>>>): Understood<T> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { problem: text.trim() === "" ? "it is empty" : "it is not JSON" };
  }
  const header = z.object({ version: z.int().min(1) }).safeParse(json);
  if (!header.success) return { problem: "it names no version" };
  if (header.data.version > version) {
    const problem = `a newer livezone wrote it: its version is ${header.data.version}, known are those up to ${version}`;
    return { problem };
  }
  const reader = readers[header.data.version];
  if (reader === undefined) return { problem: `its version is ${header.data.version}, which is not known` };
  const parsed = z.strictObject({ version: z.int(), content: reader }).safeParse(json);
  if (parsed.success) return { content: parsed.data.content };
  const [issue] = parsed.error.issues;
  return { problem: `it makes no sense at ${issue?.path.join(".")}: ${issue?.message}` };
}

/** Makes a rename in the folder survive a crash of the machine. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
