import { write } from "node:fs";
import { codeOf } from "./errors.js";

/** Characters of lines that wait to be written; beyond that, lines are lost and counted. */
const MAX_WAITING = 1 << 20;

/** Milliseconds before a descriptor that takes nothing for the moment is tried again. */
const RETRY_MS = 50;

/** Milliseconds that lines get to be written at the end of the program. */
const FLUSH_WITHIN_MS = 500;

/** Writes lines to a descriptor without ever waiting for it. */
export interface LineWriter {
  write(line: string): void;
  /** Lines lost so far. */
  readonly lost: number;
  /** Resolves once all lines are written, or half a second has passed. */
  flush(): Promise<void>;
}

/**
 * Opens a writer over a descriptor that stays its owner's.
 *
 * Neither a reader that stands still nor a full disk may hold up a probe, let alone end the program: what cannot be written
 * is lost and counted. (`sonic-boom`, which pino brings, waits for such a descriptor when the process exits.)
 */
export function createLineWriter(fd: number): LineWriter {
  let waiting: string[] = [];
  let size = 0;
  let lost = 0;
  let isWriting = false;
  let onIdle: (() => void)[] = [];

  function next(): void {
    if (waiting.length === 0) {
      isWriting = false;
      for (const resolve of onIdle) resolve();
      onIdle = [];
      return;
    }
    isWriting = true;
    const lines = waiting.length;
    const chunk = Buffer.from(waiting.join(""));
    waiting = [];
    size = 0;
    writeChunk(chunk, lines);
  }

  function writeChunk(chunk: Buffer, lines: number): void {
    write(fd, chunk, (error, written) => {
      if (error !== null && codeOf(error) === "EAGAIN") {
        setTimeout(() => writeChunk(chunk, lines), RETRY_MS).unref();
        return;
      }
      if (error !== null) lost += lines;
      else if (written < chunk.length) return writeChunk(chunk.subarray(written), lines);
      next();
    });
  }

  return {
    write(line) {
      if (size + line.length > MAX_WAITING) {
        lost += 1;
        return;
      }
      waiting.push(line);
      size += line.length;
      if (!isWriting) next();
    },
    get lost() {
      return lost;
    },
    async flush() {
      if (!isWriting) return;
      await new Promise<void>((resolve) => {
        onIdle.push(resolve);
        setTimeout(resolve, FLUSH_WITHIN_MS);
      });
    },
  };
}
