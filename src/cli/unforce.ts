import type { Command } from "commander";
import type { CommandContext } from "./exit.js";
import { addEnding } from "./overriding.js";

/** `livezone unforce`: ends what `force` began. */
export function addUnforce(program: Command, context: CommandContext): void {
  addEnding(program, context, {
    name: "unforce",
    description: "end what force began: the target's probes decide again",
    done: "is not forced any more",
    already: "was not forced",
  });
}
