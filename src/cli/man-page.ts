import type { CommandWords, OptionWords } from "./completion-scripts.js";

/** A manual page, section 8, in the language of man(7). */
export function manPage(description: string, version: string, commands: readonly CommandWords[]): string {
  return `.TH LIVEZONE 8 "" "livezone ${roff(version)}" "System administration"
.SH NAME
livezone \\- ${roff(description)}
.SH SYNOPSIS
.B livezone
.I command
.RI [ option ...]
.SH DESCRIPTION
Answers a Kubernetes controlPlaneEndpoint with the addresses of the kube\\-apiservers that are ready now, as the
authoritative DNS server of a delegated zone.
.SH COMMANDS
${commands.map(commandSection).join("")}.SH EXIT STATUS
.TP
.B 0
Success.
.TP
.B 1
The answer is "no", or the input is bad.
.TP
.B 2
The command line makes no sense.
.SH FILES
.TP
.I livezone.yaml
The configuration, looked for in the working directory.
.TP
.I /etc/livezone/livezone.yaml
The configuration, looked for next.
.SH ENVIRONMENT
.TP
.B NO_COLOR
When set, nothing is coloured.
`;
}

function commandSection({ name, description, arguments: args, options }: CommandWords): string {
  const terms = args.map(({ term }) => ` ${roff(term)}`).join("");
  const argumentList = args
    .filter((argument) => argument.description !== "")
    .map((argument) => `.TP\n.I ${roff(argument.term)}\n${text(argument.description)}`);
  return `.SS livezone ${roff(name)}${terms}
${text(description)}${[...argumentList, ...options.map(optionEntry)].join("")}`;
}

function optionEntry({ flags, placeholder, description, choices, fallback }: OptionWords): string {
  const names = flags.toReversed().map(roff).join(", ");
  const extras = [
    ...(choices.length > 0 ? [`one of ${choices.join(", ")}`] : []),
    ...(fallback === undefined ? [] : [`default: ${fallback}`]),
  ];
  const more = extras.length === 0 ? "" : ` (${extras.join("; ")})`;
  const value = placeholder === undefined ? "" : ` \\fI${roff(placeholder)}\\fR`;
  return `.TP\n\\fB${names}\\fR${value}\n${text(description + more)}`;
}

/** A paragraph of prose: a capital and a full stop, and no line that starts like a request. */
function text(words: string): string {
  const sentence = words.charAt(0).toUpperCase() + words.slice(1);
  const line = roff(/[.!?]$/.test(sentence) ? sentence : `${sentence}.`);
  return `${/^[.']/.test(line) ? "\\&" : ""}${line}\n`;
}

function roff(words: string): string {
  return words.replaceAll("\\", "\\e").replaceAll("-", "\\-");
}
