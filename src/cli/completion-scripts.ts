import type { Command, Option } from "commander";

/** An option as shells need it. */
export interface OptionWords {
  /** `--config`, and `-c` where there is one. */
  readonly flags: readonly string[];
  readonly description: string;
  /** `<file>`, `[name]`; absent for a flag. */
  readonly placeholder?: string;
  /** The words it admits; empty = any. */
  readonly choices: readonly string[];
  /** Default in words, if there is one worth showing. */
  readonly fallback?: string;
}

/** A command as shells and the manual page need it. */
export interface CommandWords {
  readonly name: string;
  readonly description: string;
  readonly arguments: readonly {
    readonly term: string;
    readonly description: string;
    readonly choices: readonly string[];
  }[];
  readonly options: readonly OptionWords[];
}

/** Everything that the program's commands say of themselves: the one source of completion and the manual page. */
export function wordsOf(program: Command): CommandWords[] {
  return program.commands.map((command) => ({
    name: command.name(),
    description: command.description(),
    arguments: command.registeredArguments.map((argument) => {
      const name = argument.variadic ? `${argument.name()}...` : argument.name();
      return {
        term: argument.required ? `<${name}>` : `[${name}]`,
        description: argument.description,
        choices: argument.argChoices ?? [],
      };
    }),
    options: [...command.options.filter(({ hidden }) => !hidden).map(optionWords), HELP],
  }));
}

const HELP: OptionWords = { flags: ["--help", "-h"], description: "display help for command", choices: [] };

function optionWords(option: Option): OptionWords {
  const placeholder = /[<[].*$/.exec(option.flags)?.[0];
  const { defaultValue } = option;
  const hasFallback = (typeof defaultValue === "string" || typeof defaultValue === "number") && defaultValue !== "";
  return {
    flags: [option.long, option.short].filter((flag) => typeof flag === "string"),
    description: option.description,
    choices: option.argChoices ?? [],
    ...(placeholder === undefined ? {} : { placeholder }),
    ...(hasFallback ? { fallback: String(defaultValue) } : {}),
  };
}

/** The shells with completion. */
export const SHELLS = { bash, zsh, fish } as const satisfies Record<string, (commands: CommandWords[]) => string>;

export type Shell = keyof typeof SHELLS;

function isFile({ placeholder }: OptionWords): boolean {
  return placeholder === "<file>" || placeholder === "<path>" || placeholder?.includes("socket") === true;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function bash(commands: CommandWords[]): string {
  const cases = commands.map((command) => {
    const words = [...command.options.flatMap(({ flags }) => flags)];
    const argumentWords = command.arguments.flatMap(({ choices }) => choices);
    const values = command.options
      .filter(({ placeholder }) => placeholder !== undefined)
      .map((option) => {
        const action = isFile(option)
          ? 'mapfile -t COMPREPLY < <(compgen -f -- "$word"); compopt -o filenames 2>/dev/null'
          : `mapfile -t COMPREPLY < <(compgen -W ${quote(option.choices.join(" "))} -- "$word")`;
        return `      ${option.flags.join("|")}) ${action}; return ;;`;
      });
    return `  ${command.name})
    case $previous in
${[...values, "      *) ;;"].join("\n")}
    esac
    if [[ $word == -* ]]; then
      mapfile -t COMPREPLY < <(compgen -W ${quote(words.join(" "))} -- "$word")
    else
      mapfile -t COMPREPLY < <(compgen -W ${quote(argumentWords.join(" "))} -- "$word")
    fi
    ;;`;
  });
  const names = [...commands.map(({ name }) => name), "help", "--help", "--version"];
  return `# bash completion for livezone: source it, or save it as /usr/share/bash-completion/completions/livezone
_livezone() {
  local word=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  if (( COMP_CWORD == 1 )); then
    mapfile -t COMPREPLY < <(compgen -W ${quote(names.join(" "))} -- "$word")
    return
  fi
  case \${COMP_WORDS[1]} in
${cases.join("\n")}
  esac
}
complete -F _livezone livezone
`;
}

function zsh(commands: CommandWords[]): string {
  const clean = (text: string) => text.replace(/[[\]:\\]/g, (character) => `\\${character}`);
  const names = commands.map(
    ({ name, description }) => `    ${quote(`${name}:${description.replaceAll(":", "\\:")}`)}`,
  );
  const cases = commands.map(({ name, options, arguments: args }) => {
    const specs = [
      ...options.flatMap((option) => {
        const { flags, placeholder, choices, description } = option;
        const words = choices.length > 0 ? `(${choices.join(" ")})` : " ";
        const value = placeholder === undefined ? "" : `:${clean(placeholder)}:${isFile(option) ? "_files" : words}`;
        return flags.map((flag) => quote(`${flag}[${clean(description)}]${value}`));
      }),
      ...args.map(({ term, choices }) =>
        quote(`:${clean(term)}:${choices.length > 0 ? `(${choices.join(" ")})` : " "}`),
      ),
    ];
    return `    ${name}) _arguments ${specs.join(" ")} ;;`;
  });
  return `#compdef livezone
# zsh completion for livezone: save it as _livezone in a folder of $fpath, or source it behind compinit
_livezone() {
  local -a commands=(
${names.join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${cases.join("\n")}
  esac
}
if [[ $funcstack[1] == _livezone ]]; then
  _livezone "$@"
else
  compdef _livezone livezone
fi
`;
}

function fish(commands: CommandWords[]): string {
  const word = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const lines = commands.flatMap(({ name, description, options, arguments: args }) => {
    const inside = `complete -c livezone -n '__fish_seen_subcommand_from ${name}'`;
    const choices = args.flatMap((argument) => argument.choices);
    return [
      `complete -c livezone -n __fish_use_subcommand -f -a ${name} -d ${word(description)}`,
      ...(choices.length > 0 ? [`${inside} -f -a ${word(choices.join(" "))}`] : []),
      ...options.map((option) => {
        const flags = option.flags.map((flag) =>
          flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
        );
        const value =
          option.placeholder === undefined
            ? ""
            : isFile(option)
              ? " -r -F"
              : ` -x -a ${word(option.choices.join(" "))}`;
        return `${inside} ${flags.join(" ")}${value} -d ${word(option.description)}`;
      }),
    ];
  });
  return `# fish completion for livezone: save it as ~/.config/fish/completions/livezone.fish
complete -c livezone -f
${lines.join("\n")}
`;
}
