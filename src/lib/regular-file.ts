import { readFileSync, statSync } from "node:fs";
import { codeOf } from "./errors.js";

/**
 * The octets of a regular file, or why they cannot be had, as a clause (`there is no such file`).
 *
 * @param limit largest size in octets
 */
export function readRegularFile(file: string, limit: number): { content: Buffer } | { why: string } {
  try {
    const stat = statSync(file);
    if (stat.isDirectory()) return { why: "it is a directory" };
    // A pipe or a device would block or never end.
    if (!stat.isFile()) return { why: "it is not a regular file" };
    if (stat.size > limit) return { why: `it is larger than ${limit / 1024} KiB` };
    return { content: readFileSync(file) };
  } catch (error) {
    return { why: READ_ERRORS[codeOf(error)] ?? `the system says ${codeOf(error) || "no"}` };
  }
}

const READ_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  ENOTDIR: "there is no such file",
  EACCES: "this user may not read it",
  EPERM: "this user may not read it",
  ELOOP: "its symbolic links go in a circle",
  ENAMETOOLONG: "the name is too long",
  ERR_INVALID_ARG_VALUE: "the name holds a NUL character",
};
