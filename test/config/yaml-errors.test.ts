import { expect, test } from "vitest";
import { parseDocument } from "yaml";
import { syntaxFinding } from "../../src/config/yaml-errors.js";

test.each([
  ["a: 1\na: 2\n", "CONFIG_YAML_DUPLICATE_KEY", /the key "a" is already there/],
  ["a:\n\tb: 1\n", "CONFIG_YAML_SYNTAX", /indented with a tab/],
  ["a: 1\n---\nb: 2\n", "CONFIG_YAML_SYNTAX", /a second document starts here/],
  ["a: @b\n", "CONFIG_YAML_SYNTAX", /cannot start with "@"/],
  ["a: b: c\n", "CONFIG_YAML_SYNTAX", /on the same line as its key holds another key/],
  ["a: [1]]\n", "CONFIG_YAML_SYNTAX", /"\]" closes a bracket that is not open here/],
  ["a: [1\nb: 2\n", "CONFIG_YAML_SYNTAX", /a "\]" is missing/],
  ["a: !b c\n", "CONFIG_YAML_SYNTAX", /tags are not used here/],
  ['a: "b\n', "CONFIG_YAML_SYNTAX", /cannot be read here|quote/i],
])("%j is told in our words", (text, code, words) => {
  const document = parseDocument(text, { version: "1.2", stringKeys: true, prettyErrors: false, logLevel: "error" });
  const findings = [...document.errors, ...document.warnings].map((error) => syntaxFinding(error, text));
  expect(findings.find((finding) => words.test(finding.message))).toMatchObject({ code });
});
