import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../support/temp.js";
import { configurationFiles, runLivezone } from "./run.js";

/** Commands that print without a server, with a reader that has gone before they do. */
test.each([["check"], ["check", "--json"], ["delegation"], ["kubeadm"], ["completion", "bash"], ["man"]])(
  "livezone %s %s ends without a word when nobody reads",
  async (...args) => {
    const cwd = temporaryFolder();
    for (const [path, text] of Object.entries(configurationFiles("127.0.0.1:53"))) {
      mkdirSync(dirname(join(cwd, path)), { recursive: true });
      writeFileSync(join(cwd, path), text);
    }
    // The shell waits for the reader's end before it starts the command, and reports how that ended.
    const script = `exec 3> >(exec true); wait $!; "$@" >&3; echo "code $?"`;
    const { stdout, stderr } = await runLivezone(args, { cwd, through: ["bash", "-c", script, "sh"] });
    expect({ stdout, stderr }).toEqual({ stdout: "code 0\n", stderr: "" });
  },
);
