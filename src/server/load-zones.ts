import { allZones } from "../config/catalog.js";
import type { Config } from "../config/config.js";
import { loadConfig } from "../config/load.js";
import type { Problem } from "../lib/errors.js";
import { buildZone } from "../zone/build.js";
import type { Zone } from "../zone/zone.js";

/** A configuration that is fit to serve. */
export interface Prepared {
  readonly config: Config;
  /** In the order of `config.zones`, then the catalog if there is one. */
  readonly zones: readonly Zone[];
  readonly warnings: readonly Problem[];
}

/** The user's files do not make a configuration; carries everything that is wrong with them. */
export class ConfigurationError extends Error {
  constructor(readonly problems: readonly Problem[]) {
    super(`the configuration has ${problems.length} problem${problems.length === 1 ? "" : "s"}`);
    this.name = "ConfigurationError";
  }
}

/**
 * Reads the configuration and builds its zones: the way from files to values that `serve`, `check` and a reload share.
 *
 * @throws ConfigurationError
 */
export function prepare(file: string): Prepared {
  const loaded = loadConfig(file);
  if ("problems" in loaded) throw new ConfigurationError(loaded.problems);
  const built = allZones(loaded.config).map(buildZone);
  const problems = [...loaded.warnings, ...built.flatMap((zone) => zone.problems)];
  if (problems.some((problem) => problem.severity !== "warning")) throw new ConfigurationError(problems);
  return {
    config: loaded.config,
    zones: built.flatMap(({ zone }) => (zone === undefined ? [] : [zone])),
    warnings: problems,
  };
}
