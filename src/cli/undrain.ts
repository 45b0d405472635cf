import type { Command } from "commander";
import type { CommandContext } from "./exit.js";
import { addEnding } from "./overriding.js";

/** `livezone undrain`: ends a drain. */
export function addUndrain(program: Command, context: CommandContext): void {
  addEnding(program, context, {
    name: "undrain",
    description: "end a drain: the target is answered again when it is up",
    done: "is not drained any more",
    already: "was not drained",
  });
}
