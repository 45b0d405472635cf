import { Command } from "commander";
import { describe, expect, test } from "vitest";
import { RefusedError } from "../../src/cli/admin.js";
import {
  asking,
  describeChange,
  describeConsequences,
  type OverrideCommandOptions,
  overrideBody,
  withOverrideOptions,
  withTarget,
} from "../../src/cli/overriding.js";
import { codeOf, messageOf } from "../../src/lib/errors.js";
import { capturing } from "./in-process.js";
import { change, targetUp } from "./stand-in.js";

/** What the options of a command line come to. */
function parsed(...args: readonly string[]): OverrideCommandOptions {
  const command = withOverrideOptions(withTarget(new Command("x")))
    .exitOverride()
    .configureOutput({ writeErr() {} });
  return command.parse(["node", "x", ...args]).opts();
}

/** The error that parsing ends with. */
function errorOf(...args: readonly string[]): unknown {
  try {
    parsed(...args);
  } catch (error) {
    return error;
  }
  throw new Error("nothing was refused");
}

describe("the options of an override", () => {
  test.each([
    { args: [], body: { author: "eve" } },
    { args: ["--for", "30m"], body: { author: "eve", for: "30m" } },
    { args: ["--reason", ""], body: { author: "eve", reason: "" } },
    { args: ["--force"], body: { author: "eve", force: true } },
    { args: ["--json", "--admin", "a.sock"], body: { author: "eve" } },
  ])("$args ask for $body", ({ args, body }) => {
    expect(overrideBody(parsed("api", "cp1", ...args), "eve")).toEqual(body);
  });

  test.each(["1s", "30m", "720h"])("--for takes %s", (text) => {
    expect(parsed("api", "cp1", "--for", text).for).toBe(text);
  });

  test.each([
    { text: "5", why: "a duration needs a unit" },
    { text: "500ms", why: "the least is 1s and the most 720h" },
    { text: "721h", why: "the least is 1s and the most 720h" },
    { text: "soon", why: "Write" },
  ])("--for $text makes no sense: exit code 2", ({ text, why }) => {
    const error = errorOf("api", "cp1", "--for", text);
    expect(error).toMatchObject({ exitCode: 2 });
    expect(messageOf(error)).toMatch(/^error: --for: /);
    expect(messageOf(error)).toContain(why);
  });

  test("endpoint and target are needed", () => {
    expect(messageOf(errorOf("api"))).toContain("missing required argument 'target'");
  });
});

describe("a change in words", () => {
  const held = { untilMs: 60_000, changes: 6 };
  const last = { class: "refused", reason: "nothing\nlistens there", durationMs: 1 } as const;
  const drained = { kind: "drained", setAtMs: 0 } as const;
  const words = (more: object) => describeChange(change(more), "is done", "was done");
  const line = (text: string) => `cp1 of api.k8s.example.test ${text}\n`;

  test.each([
    { name: "done", more: {}, says: line("is done; it is answered") },
    { name: "done before", more: { changed: false }, says: line("was done; it is answered") },
    {
      name: "not answered",
      more: { target: targetUp({ answered: false }) },
      says: line("is done; it is not answered"),
    },
    {
      name: "without an address",
      more: { target: { id: "cp1", addresses: [] } },
      says: line("is done; it is not answered"),
    },
    {
      name: "not probed yet",
      more: { target: targetUp({ health: "unknown", answered: false }) },
      says: line("is done; it is not answered, no probe of it has ended yet"),
    },
    {
      name: "disabled",
      more: { target: { ...targetUp({ health: "unknown", answered: false }), disabled: true } },
      says: line("is done; it is not answered, the configuration disables it"),
    },
    {
      name: "down, without a result",
      more: { target: targetUp({ health: "down", answered: false }) },
      says: line("is done; it is not answered, it is down"),
    },
    {
      name: "down, with the reason made fit for a terminal",
      more: { target: targetUp({ health: "down", answered: false, last }) },
      says: line("is done; it is not answered, it is down: nothing listens there"),
    },
    {
      name: "down, but overridden",
      more: { target: { ...targetUp({ health: "down", answered: false, last }), override: drained } },
      says: line("is done; it is not answered"),
    },
    {
      name: "suppressed",
      more: { target: targetUp({ answered: false, held }) },
      says: `${line("is done; it is not answered, it is suppressed since it flaps")}! "livezone unsuppress api.k8s.example.test cp1" ends the suppression\n`,
    },
    {
      // Then the suppression is not the reason.
      name: "suppressed, and overridden",
      more: { target: { ...targetUp({ answered: false, held }), override: drained } },
      says: line("is done; it is not answered"),
    },
  ])("$name", ({ more, says }) => {
    expect(words(more)).toBe(says);
  });

  const FAILS_OPEN = "! api.k8s.example.test has too few targets up now, so whenAllDown decides what it answers\n";
  const NOT_KEPT = "! without stateDir, this is not kept: cp1 is left to its health again when the server restarts\n";
  test.each([
    { more: {}, says: "" },
    { more: { persisted: true, failsOpen: false, answeredAgain: [] }, says: "" },
    { more: { failsOpen: true }, says: FAILS_OPEN },
    { more: { persisted: false }, says: NOT_KEPT },
    {
      more: { answeredAgain: ["cp2"] },
      says: "! nothing else is left: cp2 is answered again, although an operator took it out\n",
    },
    {
      more: { persisted: false, failsOpen: true, answeredAgain: ["cp2", "cp3"] },
      says: `${FAILS_OPEN}! nothing else is left: cp2, cp3 are answered again, although an operator took them out\n${NOT_KEPT}`,
    },
  ])("its consequences: $more", ({ more, says }) => {
    expect(describeConsequences(change(more))).toBe(says);
  });
});

describe("asking the server", () => {
  /** What comes of an action that ends so: what is printed, and what is thrown. */
  async function ask(run: () => Promise<number>) {
    let thrown: unknown;
    const codes: number[] = [];
    const { stderr } = await capturing(async () => {
      try {
        await asking({ exit: (code) => codes.push(code) }, run);
      } catch (error) {
        thrown = error;
      }
      return null;
    });
    return { codes, stderr, thrown };
  }
  const refuse = (code: string, message: string, problems: readonly string[] = []) =>
    ask(() => Promise.reject(new RefusedError(message, code, problems)));

  test("ends with the code of the action", async () => {
    expect(await ask(async () => 1)).toEqual({ codes: [1], stderr: "", thrown: undefined });
  });

  test.each([
    { code: "LAST_ANSWERABLE", remedy: "; bring another target up first, or use --force" },
    { code: "BELOW_MIN_HEALTHY", remedy: "; bring another target up first, or use --force" },
    { code: "DRAIN_TOO_SHORT", remedy: "; give a longer --for, or none" },
    { code: "NO_SUCH_ENDPOINT", remedy: '; write its full name; "livezone status" shows what there is' },
    { code: "TOKEN_MISSING", remedy: "; give it with --token-file FILE" },
    { code: "ANOTHER", remedy: "" },
  ])("says after a refusal with $code what to do", async ({ code, remedy }) => {
    const { codes, thrown } = await refuse(code, "no");
    expect(codes).toEqual([]);
    expect({ code: codeOf(thrown), message: messageOf(thrown) }).toEqual({ code, message: `no${remedy}` });
  });

  test("prints the problems of a refusal, and makes its words fit for a terminal", async () => {
    const { stderr, thrown } = await refuse("ANOTHER", "no\x1b[31m\nnever", ["a is wrong", "b is wrong"]);
    expect(stderr).toBe("a is wrong\nb is wrong\n");
    expect(messageOf(thrown)).toBe("no [31m never");
    expect(thrown).toMatchObject({ problems: ["a is wrong", "b is wrong"] });
  });

  test("leaves any other error as it is", async () => {
    const defect = new Error("a defect");
    expect((await ask(() => Promise.reject(defect))).thrown).toBe(defect);
  });
});
