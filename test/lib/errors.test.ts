import { expect, test } from "vitest";
import { codeOf, formatProblem, messageOf, UserError } from "../../src/lib/errors.js";

const PROBLEM = {
  file: "zones/a.yaml",
  line: 3,
  column: 7,
  message: "ttl is 0: no.",
  remedy: "Write 5.",
  code: "CONFIG_TTL_ZERO",
};

test.each([
  { severity: undefined, first: "zones/a.yaml:3:7: ttl is 0: no." },
  { severity: "error" as const, first: "zones/a.yaml:3:7: ttl is 0: no." },
  { severity: "warning" as const, first: "zones/a.yaml:3:7: warning: ttl is 0: no." },
])("a problem of severity $severity is printed with its place, its code and what to do", ({ severity, first }) => {
  expect(formatProblem(severity === undefined ? PROBLEM : { ...PROBLEM, severity })).toBe(
    `${first}\nWrite 5. [CONFIG_TTL_ZERO]`,
  );
});

const system = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });

test.each([
  { name: "an error", thrown: new TypeError("not that"), message: "not that", code: "" },
  { name: "an error of the system", thrown: system, message: "connect ECONNREFUSED", code: "ECONNREFUSED" },
  { name: "an error for the user", thrown: new UserError("no", "A_CODE"), message: "no", code: "A_CODE" },
  {
    name: "an error whose code is no text",
    thrown: Object.assign(new Error("x"), { code: 7 }),
    message: "x",
    code: "",
  },
  { name: "text", thrown: "gone", message: "gone", code: "" },
  { name: "an object with a code", thrown: { code: "ENOENT" }, message: "[object Object]", code: "" },
  { name: "nothing", thrown: undefined, message: "undefined", code: "" },
])("$name that is thrown has a message and a code", ({ thrown, message, code }) => {
  expect([messageOf(thrown), codeOf(thrown)]).toEqual([message, code]);
});

test("an error for the user keeps what caused it", () => {
  expect(new UserError("no", "A_CODE", { cause: system })).toMatchObject({ name: "UserError", cause: system });
});
