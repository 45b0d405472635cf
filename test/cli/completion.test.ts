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

/** What a shell is to offer for the last word: whole lists, or some of them. */
const OFFERS = [
  { words: ["del"], all: ["delegation"] },
  { words: ["delegation", "--for"], all: ["--format"] },
  { words: ["delegation", "--format", "un"], all: ["unbound"] },
  { words: ["completion", "z"], all: ["zsh"] },
  { words: ["check", "--config", "no"], all: ["notes.yaml"] },
  { words: ["check", "-c", "no"], all: ["notes.yaml"] },
  { words: ["doctor", "--js"], all: ["--json"] },
  { words: ["doctor", "--hosts-file", "no"], all: ["notes.yaml"] },
] as const;

describeWith(["fish"], "livezone completion fish", () => {
  test("is a script that the shell reads, and completes commands, options, choices and files", async () => {
    const saved = await savedOutput("completion", "fish");
    await run(requireProgram("fish"), ["-n", saved.file]);
    const offered = async (line: string) => {
      const script = `source ${saved.file}; complete -C ${JSON.stringify(line)}`;
      const env = { ...process.env, HOME: saved.folder, XDG_CONFIG_HOME: saved.folder };
      const { stdout, stderr } = await run(requireProgram("fish"), ["--no-config", "-c", script], {
        cwd: saved.folder,
        env,
      });
      expect(stderr).toBe("");
      return stdout.split("\n").flatMap((row) => (row === "" ? [] : [row.split("\t")[0]]));
    };
    expect(await offered("livezone ")).toEqual(expect.arrayContaining(commands.map(({ name }) => name)));
    for (const { words, all } of OFFERS)
      expect(await offered(`livezone ${words.join(" ")}`), words.join(" ")).toEqual(all);
  });
});

/**
 * Runs an interactive zsh in a terminal of its own, types each line and a Tab, and prints what is offered: `compadd`,
 * by which every completion adds its matches, is put in front of zsh's own.
 */
const ZSH_OFFERS = `
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'PS1= PS2= ; stty -echo; autoload -Uz compinit && compinit -u -D; source $SCRIPT'
zpty -w z 'compadd() { local -a hits; case " $* " in (*" -O "*|*" -A "*|*" -D "*) builtin compadd "$@"; return;; esac; builtin compadd -O hits "$@"; (( $#hits )) && print -rl -- "OFFER "$^hits; builtin compadd "$@" }'
zpty -w z 'tell() { zle complete-word; print -r -- END; zle kill-whole-line }; zle -N tell; bindkey "^I" tell; print -r -- REA"DY"'
local answer
zpty -r -m z answer '*READY*'
for line; do
  zpty -n -w z "$line"$'\t'
  zpty -r -m z answer '*END*'
  print -r -- "LINE $line"
  print -r -- "$answer"
done
zpty -d z`;

describeWith(["zsh"], "livezone completion zsh", () => {
  test("is a script that the shell reads, and completes commands, options, choices and files", async () => {
    const saved = await savedOutput("completion", "zsh");
    await run(requireProgram("zsh"), ["-n", saved.file]);
    const lines = ["livezone ", ...OFFERS.map(({ words }) => `livezone ${words.join(" ")}`)];
    const { stdout } = await run(requireProgram("zsh"), ["-f", "-c", ZSH_OFFERS, "zsh", ...lines], {
      cwd: saved.folder,
      env: { ...process.env, SCRIPT: saved.file, ZDOTDIR: saved.folder, TERM: "dumb" },
      timeout: 20_000,
    });
    const [, ...answers] = stdout.split(/^LINE .*$/m);
    const offered = answers.map((answer) => [...answer.matchAll(/OFFER (\S+)/g)].map(([, word]) => word));
    expect(offered[0]).toEqual(expect.arrayContaining(commands.map(({ name }) => name)));
    expect(
      offered.slice(1).map((words) => [...new Set(words)]),
      stdout,
    ).toEqual(OFFERS.map(({ all }) => all));
  });
});

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
