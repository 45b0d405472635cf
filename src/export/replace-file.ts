import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { codeOf } from "../lib/errors.js";

const BEGIN = '# livezone begin: written by "livezone export"';
const END = "# livezone end";

/** Mode of a file that was not there: readable by all, as configurations of load balancers are. */
const NEW_FILE_MODE = 0o644;

/**
 * A text with our block in it: in the place of the one that is there, else at the end.
 *
 * @param before the whole file; text outside the block stays as it is
 * @param block lines, each with its newline
 */
export function withBlock(before: string, block: string): string {
  const own = `${BEGIN}\n${block}${END}\n`;
  const begin = before.indexOf(`${BEGIN}\n`);
  const end = before.indexOf(`${END}\n`, begin);
  if (begin >= 0 && end >= 0) return before.slice(0, begin) + own + before.slice(end + END.length + 1);
  const gap = before === "" || before.endsWith("\n") ? "" : "\n";
  return before + gap + own;
}

/** What a file holds; undefined if it is not there. Other errors are thrown. */
export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Gives a file a new content as a whole: who reads it sees the old or the new, never a part. Its mode stays. A symbolic link
 * stays one.
 *
 * @returns whether that changed anything; a file that has this content is not touched
 * @throws errors of the file system
 */
export function replaceFile(file: string, content: string): boolean {
  if (readIfThere(file) === content) return false;
  const target = realpathIfThere(file);
  const before = statSync(target, { throwIfNoEntry: false });
  const temporary = `${target}.livezone-${process.pid}`;
  try {
    const fd = openSync(temporary, "wx", before === undefined ? NEW_FILE_MODE : before.mode & 0o7777);
    try {
      writeSync(fd, content);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, target);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  return true;
}

function realpathIfThere(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
