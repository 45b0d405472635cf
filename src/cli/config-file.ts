import { lstatSync } from "node:fs";
import { codeOf, UserError } from "../lib/errors.js";

/** Where the configuration is looked for without `--config`, first one first. */
const DEFAULT_FILES = ["livezone.yaml", "/etc/livezone/livezone.yaml"] as const;

/** The text of `--config` in every command's help. */
export const CONFIG_OPTION = [
  "-c, --config <file>",
  `configuration file (default: ${DEFAULT_FILES.join(", then ")})`,
] as const;

/**
 * The configuration file to use; undefined if none is given and there is none in the usual places.
 *
 * @param exists whether there is a file with that name
 */
export function existingConfigFile(
  given: string | undefined,
  exists: (file: string) => boolean = isThere,
): string | undefined {
  return given ?? DEFAULT_FILES.find((file) => exists(file));
}

/** Whether something is there, or may be: a file that this user may not read is told of, not passed over. */
function isThere(file: string): boolean {
  try {
    lstatSync(file);
    return true;
  } catch (error) {
    return !["ENOENT", "ENOTDIR"].includes(codeOf(error));
  }
}

/** As {@link existingConfigFile}. @throws UserError if none is given and there is none in the usual places */
export function findConfigFile(given: string | undefined, exists: (file: string) => boolean = isThere): string {
  const found = existingConfigFile(given, exists);
  if (found === undefined) {
    throw new UserError(
      `no configuration: looked for ${DEFAULT_FILES.join(" and ")}; name one with --config FILE`,
      "CONFIG_NOT_FOUND",
    );
  }
  return found;
}
