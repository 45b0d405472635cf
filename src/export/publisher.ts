import { spawn } from "node:child_process";
import { readIfThere, replaceFile, withBlock } from "./replace-file.js";

/** Where exported text goes, and who is told. */
export interface Destination {
  readonly file: string;
  /** Whether the file has other content, see `ExportFormat.isBlock`. */
  readonly isBlock: boolean;
  /** Given to `sh -c` after a change. */
  readonly reloadCommand?: string;
}

/** What one publication did. */
export type Published =
  | { readonly state: "unchanged" }
  | { readonly state: "written" }
  | { readonly state: "reload-failed"; readonly why: string };

/** Runs a command by the shell, its output on our standard error. Undefined if it succeeded, else why not. */
function runCommand(command: string): Promise<string | undefined> {
  return new Promise((done) => {
    const child = spawn("sh", ["-c", command], { stdio: ["ignore", 2, 2] });
    child.once("error", (error) => done(error.message));
    child.once("exit", (code, signal) => {
      if (code === 0) done(undefined);
      else done(signal === null ? `exit code ${code}` : `signal ${signal}`);
    });
  });
}

/** Keeps one file as the exported text says, and has its reader load it when, and only when, it changed. */
export class Publisher {
  readonly #destination: Destination;
  /** A reload that failed is owed: the reader has not seen what the file says. */
  #isReloadOwed = false;

  constructor(destination: Destination) {
    this.#destination = destination;
  }

  /** Whether {@link publish} should be called again although nothing changed. */
  get isReloadOwed(): boolean {
    return this.#isReloadOwed;
  }

  /** @throws errors of the file system */
  async publish(text: string): Promise<Published> {
    const { file, isBlock, reloadCommand } = this.#destination;
    const isChanged = replaceFile(file, isBlock ? withBlock(readIfThere(file) ?? "", text) : text);
    if (!isChanged && !this.#isReloadOwed) return { state: "unchanged" };
    if (reloadCommand !== undefined) {
      this.#isReloadOwed = true;
      const why = await runCommand(reloadCommand);
      if (why !== undefined) return { state: "reload-failed", why };
      this.#isReloadOwed = false;
    }
    return { state: "written" };
  }
}
