import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The project's folder, with a slash at its end. */
export const root = fileURLToPath(new URL("../../", import.meta.url));

/** Files that are tracked, or would be: new ones count, ignored and deleted ones do not. Relative paths, sorted. */
export function projectFiles(): string[] {
  // A checkout that belongs to another user is read here, not trusted: no hook or alias of it runs.
  const args = ["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const listed = execFileSync("git", args, { cwd: root, encoding: "utf8" }).split("\0");
  return [...new Set(listed)].filter((file) => file !== "" && existsSync(root + file)).sort();
}

/** TypeScript files below `src/`, as `src/…` paths. */
export function sourceFiles(): string[] {
  return projectFiles().filter((file) => /^src\/.*\.ts$/.test(file));
}

/** The text of a project file. */
export function textOf(file: string): string {
  return readFileSync(root + file, "utf8");
}

// One token that could hide or fake code. A slash starts a pattern only where a value may start.
const TOKENS = new RegExp(
  [
    /\/\/[^\n]*|\/\*[\s\S]*?\*\//, // comments
    /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/, // strings
    /`(?:[^`\\]|\\[\s\S])*`/, // templates, with what is nested in them
    /(?<=(?:^|[(,=:[!&|?{};+~<>]|\breturn|\bcase)\s*)\/(?![*/])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/, // patterns
  ]
    .map(({ source }) => `(${source})`)
    .join("|"),
  "gm",
);

const blank = (text: string): string => text.replace(/[^\n]/g, " ");

/** TypeScript with comments, templates and patterns blanked out, and the strings kept; length and lines stay. */
export function withoutComments(source: string): string {
  return source.replace(TOKENS, (token, _comment, string) => (string === undefined ? blank(token) : token));
}

/** As {@link withoutComments}, with the strings blanked out too. */
export function codeOnly(source: string): string {
  return source.replace(TOKENS, blank);
}

/** Line number, from 1, of an offset. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}
