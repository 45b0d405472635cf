import type { YAMLError } from "yaml";
import type { Finding } from "./finding.js";
import { quote } from "./quote.js";

/** The YAML library's errors in our words; those without an entry keep its own. */
export function syntaxFinding(error: YAMLError, text: string): Finding {
  const rest = text.slice(error.pos[0]).split("\n", 1)[0] ?? "";
  const code = "CONFIG_YAML_SYNTAX";
  switch (error.code) {
    case "DUPLICATE_KEY":
      return {
        message: `the key ${quote(rest.replace(/\s*:.*$/, "").replace(/^(["'])(.*)\1$/, "$2"))} is already there in this mapping.`,
        remedy: "Keep one of them.",
        code: "CONFIG_YAML_DUPLICATE_KEY",
      };
    case "TAB_AS_INDENT":
      return { message: "the line is indented with a tab, which YAML forbids.", remedy: "Use spaces.", code };
    case "MULTIPLE_DOCS":
      return {
        message: "a second document starts here, but a configuration file holds one.",
        remedy: 'Remove the "---" line, or move what follows to a file of its own.',
        code,
      };
    case "BAD_SCALAR_START":
      return {
        message: `a plain value cannot start with ${quote(rest.slice(0, 1))}.`,
        remedy: "Put it in double quotes.",
        code,
      };
    case "NON_STRING_KEY":
      return {
        message: "a key is a list or a mapping.",
        remedy: "Put values with brackets or braces in quotes.",
        code,
      };
    case "BLOCK_AS_IMPLICIT_KEY":
      return {
        message: "a value on the same line as its key holds another key.",
        remedy: "Put the mapping on lines of its own, or the value in double quotes.",
        code,
      };
    case "UNEXPECTED_TOKEN":
    case "BAD_INDENT":
      return bracketFinding(error) ?? otherFinding(error);
    case "TAG_RESOLVE_FAILED":
      return { message: "tags are not used here.", remedy: 'Remove the "!…" in front of the value.', code };
  }
  return otherFinding(error);
}

/** A bracket that is not closed or not open, or a line that is indented wrongly. */
function bracketFinding({ code: kind, message }: YAMLError): Finding | undefined {
  const code = "CONFIG_YAML_SYNTAX";
  const closing = /^Unexpected flow-(?:seq|map)-end token.*"(.)"$/.exec(message)?.[1];
  if (closing !== undefined) {
    return {
      message: `${quote(closing)} closes a bracket that is not open here.`,
      remedy: "Remove it, or write the opening bracket that belongs to it.",
      code,
    };
  }
  if (kind !== "BAD_INDENT") return undefined;
  const missing = /^Flow .* end with a (.)$/.exec(message)?.[1];
  if (missing === undefined) {
    return { message: `${lowerFirst(message)}.`, remedy: "Check the indentation of this line.", code };
  }
  return {
    message: `a bracket that was opened before is not closed here: a ${quote(missing)} is missing, or the line is not indented.`,
    remedy: 'Check brackets and quotes from here upwards: each "[" needs its "]", each "{" its "}".',
    code,
  };
}

function otherFinding({ message }: YAMLError): Finding {
  return {
    message: `YAML cannot be read here: ${lowerFirst(message).slice(0, 160)}.`,
    remedy: "Check quotes, brackets and indentation up to here.",
    code: "CONFIG_YAML_SYNTAX",
  };
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1).replace(/\.$/, "");
}
