import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { wordsOf } from "../../src/cli/completion-scripts.js";
import { buildProgram } from "../../src/cli/program.js";
import { describeWith, requireProgram } from "../support/programs.js";
import { temporaryFolder } from "../support/temp.js";
import { runLivezone } from "./run.js";

const run = promisify(execFile);

const commands = wordsOf(await buildProgram({ exit() {} }));

/** The output of `livezone` with these arguments, in a file of a folder with a file `notes.yaml` beside it. */
async function savedOutput(...args: readonly string[]): Promise<{ folder: string; file: string }> {
  const folder = temporaryFolder();
  const { code, stdout, stderr } = await runLivezone(args, { cwd: folder });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const file = join(folder, "output");
  writeFileSync(file, stdout);
  writeFileSync(join(folder, "notes.yaml"), "");
  return { folder, file };
}

describeWith(["bash"], "livezone completion bash", () => {
  /** What bash offers for the last word, as it does on a Tab: by the function registered for `livezone`. */
  async function offered(saved: { folder: string; file: string }, ...words: readonly string[]): Promise<string[]> {
    const script = `
      source "$0"
      registered=$(complete -p livezone) && [[ $registered =~ -F\\ ([^ ]+) ]] || exit 9
      COMP_WORDS=("$@") COMP_CWORD=$(( $# - 1 ))
      "\${BASH_REMATCH[1]}" "$1" "\${COMP_WORDS[COMP_CWORD]}" "\${COMP_WORDS[COMP_CWORD-1]}"
      printf '%s\\n' "\${COMPREPLY[@]}"`;
    const args = ["--norc", "--noprofile", "-c", script, saved.file, "livezone", ...words];
    const { stdout, stderr } = await run(requireProgram("bash"), args, { cwd: saved.folder });
    expect(stderr).toBe("");
    return stdout.split("\n").filter((word) => word !== "");
  }

  test("completes commands, options, choices and files", async () => {
    const saved = await savedOutput("completion", "bash");
    expect(await offered(saved, "")).toEqual(expect.arrayContaining(commands.map(({ name }) => name)));
    expect(await offered(saved, "del")).toEqual(["delegation"]);
    expect(await offered(saved, "delegation", "--for")).toEqual(["--format"]);
    expect(await offered(saved, "delegation", "--format", "un")).toEqual(["unbound"]);
    expect(await offered(saved, "completion", "")).toEqual(["bash", "zsh", "fish"]);
    expect(await offered(saved, "check", "--config", "no")).toEqual(["notes.yaml"]);
    expect(await offered(saved, "check", "-c", "no")).toEqual(["notes.yaml"]);
    expect(await offered(saved, "doctor", "--js")).toEqual(["--json"]);
    expect(await offered(saved, "nothing", "")).toEqual([]);
  });
});

for (const shell of ["zsh", "fish"] as const) {
  describeWith([shell], `livezone completion ${shell}`, () => {
    test("is a script that the shell reads", async () => {
      const { file } = await savedOutput("completion", shell);
      await run(requireProgram(shell), ["-n", file]);
    });
  });
}

describe("livezone completion", () => {
  test.each(["bash", "zsh", "fish"])("%s knows every command and every option", async (shell) => {
    const { stdout } = await runLivezone(["completion", shell], { cwd: temporaryFolder() });
    for (const { name, options } of commands) {
      expect(stdout).toContain(name);
      for (const { flags } of options) {
        const [long = ""] = flags;
        expect(stdout).toContain(shell === "fish" ? `-l ${long.slice(2)}` : long);
      }
    }
  });

  test("refuses a shell that it does not know", async () => {
    const { code, stderr } = await runLivezone(["completion", "tcsh"], { cwd: temporaryFolder() });
    expect(code).toBe(2);
    expect(stderr).toContain("Allowed choices are bash, zsh, fish");
  });
});

describeWith(["groff"], "livezone man", () => {
  test("is a page without a fault, on which every command and option stands", async () => {
    const { file } = await savedOutput("man");
    const { stdout, stderr } = await run(requireProgram("groff"), ["-man", "-Tascii", "-ww", "-P-cbou", file]);
    expect(stderr).toBe("");
    for (const { name, options } of commands) {
      expect(stdout).toContain(`livezone ${name}`);
      for (const { flags } of options) for (const flag of flags) expect(stdout).toContain(flag);
    }
    expect(stdout).toContain("EXIT STATUS");
  });
});
