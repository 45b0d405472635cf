import { projectFiles, textOf } from "../house-rules/source.js";

/** README and the pages of docs/, but those that other files make. */
export const PAGES = projectFiles().filter((file) => file === "README.md" || /^docs\/[^/]+\.md$/.test(file));

/** One block of code of a page. */
export interface CodeBlock {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** `yaml`, `console`, …; empty for one that is only indented. */
  readonly language: string;
  readonly text: string;
}

/** The fenced and the indented blocks of a page. */
export function blocksOf(file: string): CodeBlock[] {
  const lines = textOf(file).split("\n");
  const blocks: CodeBlock[] = [];
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? "";
    const start = index;
    const body: string[] = [];
    const fence = /^```(\S*)$/.exec(line);
    if (fence !== null) {
      for (index += 1; index < lines.length && lines[index] !== "```"; index++) body.push(lines[index] ?? "");
    } else if (/^ {4,}\S/.test(line) && (lines[index - 1] ?? "").trim() === "") {
      for (; index < lines.length && /^( {4,}\S|\s*$)/.test(lines[index] ?? ""); index++)
        body.push((lines[index] ?? "").trim());
      index -= 1;
    } else continue;
    blocks.push({ file, line: start + 1, language: fence?.[1] ?? "", text: `${body.join("\n")}\n` });
  }
  return blocks;
}

/** The name by which a heading is linked to, as GitHub makes it. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[`*]/g, "")
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-");
}

/** The names by which a page's headings are linked to. */
export function anchorsOf(file: string): Set<string> {
  const text = textOf(file).replace(/^```[\s\S]*?^```$/gm, "");
  return new Set([...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) => anchorOf(heading)));
}

/** Lines of the page's blocks that call livezone, as words; what is written after a comment sign or a pipe is left out. */
export function livezoneCalls(file: string): { readonly line: number; readonly words: string[] }[] {
  return blocksOf(file)
    .filter(({ language }) => ["", "console", "sh", "bash"].includes(language))
    .flatMap(({ line, text }) => {
      const joined = text.replace(/\\\n\s*/g, " ");
      return joined
        .split("\n")
        .map((one) => /^(?:\$ )?(?:sudo )?livezone( .*)?$/.exec(one)?.[1])
        .filter((rest) => rest !== undefined)
        .map((rest) => ({ line, words: wordsOf(rest) }));
    });
}

/** Words as a shell makes them, without what follows `#`, `|`, `&&`, `;`, `||` or `>`. */
function wordsOf(text: string): string[] {
  const command = text.split(/\s(?:#|\|{1,2}|&&|>|;)(?=\s)/)[0] ?? "";
  return [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? "");
}
