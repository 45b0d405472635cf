import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import { globSync, isDynamicPattern } from "tinyglobby";
import type { Problem } from "../lib/errors.js";
import { formatAddress, type SocketAddress } from "../lib/listening.js";
import { readRegularFile } from "../lib/regular-file.js";
import { probeLayer } from "./build-probe.js";
import { buildZoneConfig, type ZoneDefaults } from "./build-zone.js";
import { buildCatalog, CATALOG_AT } from "./catalog.js";
import type { AdminConfig, Config, Position, ZoneConfig } from "./config.js";
import { checkSecrecy, checkToken } from "./credentials.js";
import type { Finding } from "./finding.js";
import { builtIn } from "./option.js";
import type { Path } from "./positions.js";
import { buildQueries } from "./queries.js";
import { formatPath, quote } from "./quote.js";
import { checkRuntimePaths, whyUnreadableFolder } from "./runtime-paths.js";
import { logOptions, type MainInput, mainOptions, mainSchema } from "./schema.js";
import { zoneSchema } from "./schema-zone.js";
import { buildSiblings, checkPlaces, shareOfSerials } from "./siblings.js";
import { MAX_FILE_OCTETS, parseSource, problemAt, type Report, type Source } from "./source.js";
import { buildTransfer } from "./transfer.js";
import { warnOfUnsavedSerials } from "./transfer-warnings.js";
import { type Valid, validate } from "./validate.js";

/** Most worker threads. */
const MAX_WORKERS = 64;

/** What {@link loadConfig} comes to: a configuration to run with, or everything that is wrong with it. */
export type Loaded =
  | { readonly config: Config; readonly warnings: readonly Problem[] }
  | { readonly problems: readonly Problem[] };

/**
 * Reads, checks and completes a configuration: the main file, its zone files, and the files that these name.
 *
 * Everything that is wrong is told at once, warnings included, in the order of the files. Nothing is thrown for what
 * a file holds. The result is deeply frozen.
 *
 * @param file the main file as the user named it
 */
export function loadConfig(file: string): Loaded {
  const found: Problem[] = [];
  const report: Report = (problem) => found.push(problem);
  const config = load(file, report);
  const problems = distinct(found, file);
  if (config === undefined || problems.some(isError)) return { problems };
  return { config: deepFreeze(config), warnings: problems };
}

function load(file: string, report: Report): Config | undefined {
  const absolute = path.resolve(file);
  const read = readRegularFile(absolute, MAX_FILE_OCTETS);
  if ("why" in read) {
    report({
      file,
      line: 1,
      column: 1,
      message: `the file cannot be read: ${read.why}.`,
      remedy: "Name the main file with --config.",
      code: "CONFIG_FILE_UNREADABLE",
    });
    return undefined;
  }
  const parsed = parseSource(file, absolute, read.content);
  if ("problems" in parsed) {
    parsed.problems.forEach(report);
    return undefined;
  }
  const { source } = parsed;
  if (isZoneFile(source.data)) {
    report(
      problemAt(source, [], {
        message: "this is a zone file, not the main file.",
        remedy: 'Name the file that lists it under "zones".',
        code: "CONFIG_WRONG_FILE",
      }),
    );
    return undefined;
  }
  const main = validate(mainSchema, source, report);
  if (main === undefined) return undefined;
  const listen = buildListen(source, main, report);
  const admin = buildAdmin(source, main.value.admin, report);
  const transfer = buildTransfer(source, main.value.transfer, report);
  const siblings = buildSiblings(source, main.value.siblings, report);
  checkPlaces(source, siblings?.listen, { listen, http: admin.http }, report);
  const defaults: ZoneDefaults = {
    keys: new Set(transfer.keys.map(({ name }) => name)),
    listen,
    serialModulo: siblings && shareOfSerials(siblings),
    ttl: main.value.defaults?.ttl,
    probe: probeLayer(source, main, ["defaults", "probe"], main.value.defaults?.probe),
  };
  const zones = loadZones(source, main, defaults, report);
  const catalog = loadCatalog(source, main.value.transfer?.catalog, zones, defaults, report);
  const workers = main.value.workers ?? builtIn(mainOptions.workers);
  const stateDir = main.value.stateDir === undefined ? undefined : path.resolve(source.directory, main.value.stateDir);
  warnOfUnsavedSerials(source, stateDir, zones, report);
  checkRuntimePaths(source, { socket: admin.socket, stateDir }, report);
  return {
    file,
    listen,
    listenPositions: listenPositions(source, main, listen.length),
    freebind: main.value.freebind ?? builtIn(mainOptions.freebind),
    workers: workers === "auto" ? Math.min(MAX_WORKERS, Math.max(1, availableParallelism() - 1)) : workers,
    ...(stateDir === undefined ? {} : { stateDir }),
    admin,
    watch: main.value.watch ?? builtIn(mainOptions.watch),
    log: { level: main.value.log?.level ?? builtIn(logOptions.level) },
    queries: buildQueries(source, main.value.queries, report),
    transfer: { ...transfer, ...(catalog && { catalog }) },
    ...(siblings === undefined ? {} : { siblings }),
    zones,
  };
}

function isZoneFile(data: unknown): boolean {
  return typeof data === "object" && data !== null && "zone" in data && !("zones" in data);
}

function buildListen(source: Source, main: Valid<MainInput>, report: Report): readonly SocketAddress[] {
  const listen = main.value.listen ?? builtIn(mainOptions.listen);
  const seen = new Set<string>();
  for (const [index, socket] of listen.entries()) {
    const key = formatAddress(socket);
    // Port 0 is another port each time.
    if (socket.port !== 0 && seen.has(key)) {
      const at = ["listen", index];
      report(
        problemAt(source, at, {
          message: `${formatPath(at)} is ${quote(formatAddress(socket))}, which is already in the list.`,
          remedy: "Keep one of them.",
          code: "CONFIG_LISTEN_DUPLICATE",
        }),
      );
    }
    seen.add(key);
  }
  return listen;
}

/** Where each address stands that is listened on; for defaults, where they would stand. */
function listenPositions(source: Source, main: Valid<MainInput>, count: number): readonly Position[] {
  const isList = main.value.listen !== undefined && source.positions.isList(["listen"]);
  return Array.from({ length: count }, (_, index) =>
    source.position(source.positions.value(isList ? ["listen", index] : ["listen"])),
  );
}

function buildAdmin(source: Source, input: MainInput["admin"], report: Report): AdminConfig {
  const { socket, http, tokenFile, hostNames = [] } = input ?? {};
  const resolve = (name: string) => path.resolve(source.directory, name);
  if (tokenFile !== undefined) {
    const at = ["admin", "tokenFile"];
    checkToken(source, at, resolve(tokenFile), report);
    checkSecrecy(source, at, resolve(tokenFile), report, "can drain and force targets");
    if (http === undefined) {
      report(
        problemAt(source, at, {
          message: "admin.tokenFile has no effect without admin.http.",
          remedy: 'Add "http", or remove "tokenFile".',
          code: "CONFIG_TOKEN_UNUSED",
          severity: "warning",
        }),
      );
    }
  }
  return {
    ...(socket === undefined ? {} : { socket: resolve(socket) }),
    ...(http === undefined ? {} : { http, httpPosition: source.position(source.positions.value(["admin", "http"])) }),
    ...(tokenFile === undefined ? {} : { tokenFile: resolve(tokenFile) }),
    hostNames,
  };
}

function loadZones(source: Source, main: Valid<MainInput>, defaults: ZoneDefaults, report: Report): ZoneConfig[] {
  const files = zoneFiles(source, main.value.zones, report);
  if (files.size === 0) {
    report(
      problemAt(source, ["zones"], {
        message: "zones names no file that exists, so there would be nothing to answer.",
        remedy: "Write the names of zone files, relative to this file.",
        code: "CONFIG_NO_ZONES",
      }),
    );
  }
  const zones: ZoneConfig[] = [];
  for (const [absolute, namedAt] of files) {
    const shown = showFile(source, absolute);
    const read = readRegularFile(absolute, MAX_FILE_OCTETS);
    if ("why" in read) {
      report(
        problemAt(source, namedAt, {
          message: `${formatPath(namedAt)}: the zone file ${quote(shown)} cannot be read: ${read.why}.`,
          remedy: "Name a file that this user can read, relative to this file.",
          code: "CONFIG_FILE_UNREADABLE",
        }),
      );
      continue;
    }
    const parsed = parseSource(shown, absolute, read.content);
    if ("problems" in parsed) {
      parsed.problems.forEach(report);
      continue;
    }
    const valid = validate(zoneSchema, parsed.source, report);
    if (valid === undefined) continue;
    const zone = buildZoneConfig(parsed.source, valid, defaults, report);
    checkAgainst(zones, zone, { source: parsed.source, at: ["zone"] }, report);
    zones.push(zone);
  }
  return zones;
}

function loadCatalog(
  source: Source,
  name: string | undefined,
  zones: readonly ZoneConfig[],
  { serialModulo }: ZoneDefaults,
  report: Report,
): ZoneConfig | undefined {
  if (name === undefined) return undefined;
  const catalog = buildCatalog(source, name, zones, serialModulo, report);
  checkAgainst(zones, catalog, { source, at: CATALOG_AT }, report);
  return catalog;
}

/** Absolute zone files in the order listed (a glob's in alphabetical order), each with the path of who named it. */
function zoneFiles(source: Source, names: readonly string[], report: Report): Map<string, Path> {
  const files = new Map<string, Path>();
  const mainFile = path.resolve(source.directory, path.basename(source.file));
  for (const [index, name] of names.entries()) {
    const at = source.positions.isList(["zones"]) ? ["zones", index] : ["zones"];
    const literal = path.resolve(source.directory, name);
    if (!isDynamicPattern(name)) {
      if (!files.has(literal)) files.set(literal, at);
      continue;
    }
    const matches = globSync(name, { cwd: source.directory, absolute: true, expandDirectories: false })
      .map((match) => path.resolve(match))
      // A glob that takes in the main file did not mean it.
      .filter((match) => match !== mainFile)
      .sort();
    if (matches.length === 0) {
      const folder = path.resolve(source.directory, staticPart(name));
      const why = whyUnreadableFolder(folder);
      report(
        problemAt(source, at, why === undefined ? unmatched(at, name, folder) : unreadable(at, name, folder, why)),
      );
    }
    for (const match of matches) if (!files.has(match)) files.set(match, at);
  }
  return files;
}

function unmatched(at: Path, name: string, folder: string): Finding {
  const because = existsSync(folder) ? "" : `: there is no folder ${quote(folder)}`;
  return {
    message: `${formatPath(at)} is ${quote(name)}, which matches no file${because}.`,
    remedy: "Check the pattern; it starts from the folder of this file.",
    code: "CONFIG_ZONES_UNMATCHED",
    severity: "warning",
  };
}

/** An error, since zones that are served must not go because their folder cannot be read at a reload. */
function unreadable(at: Path, name: string, folder: string, why: string): Finding {
  return {
    message: `${formatPath(at)} is ${quote(name)}, whose folder ${quote(folder)} cannot be read: ${why}.`,
    remedy:
      "Let the user livezone runs as read the folder, or correct the pattern; it starts from the folder of this file.",
    code: "CONFIG_ZONES_UNREADABLE",
  };
}

/** The folders that a pattern begins with, before the first part that is a pattern. */
function staticPart(pattern: string): string {
  const parts = pattern.split("/");
  const first = parts.findIndex((part) => isDynamicPattern(part));
  return parts.slice(0, first < 0 ? -1 : first).join("/") || (pattern.startsWith("/") ? "/" : ".");
}

/** A zone file as the user would name it: beside the main file as that was named, or relative to here if shorter. */
function showFile(main: Source, absolute: string): string {
  const beside = path.isAbsolute(main.file)
    ? absolute
    : path.join(path.dirname(main.file), path.relative(main.directory, absolute));
  const here = path.relative("", absolute);
  return here.length < beside.length ? here : beside;
}

/** Reports a zone that exists already, or that lies inside another one or around it. `at`: where its name stands. */
function checkAgainst(
  zones: readonly ZoneConfig[],
  zone: ZoneConfig,
  { source, at }: { readonly source: Source; readonly at: Path },
  report: Report,
): void {
  for (const other of zones) {
    const { file, line, column } = other.position;
    const place = `${file}:${line}:${column}`;
    if (other.zone === zone.zone) {
      report(
        problemAt(source, at, {
          message: `${formatPath(at)} is ${quote(zone.zone)}, which ${place} has already.`,
          remedy: "Keep one of them.",
          code: "CONFIG_ZONE_DUPLICATE",
        }),
      );
    } else if (zone.zone.endsWith(`.${other.zone}`) || other.zone.endsWith(`.${zone.zone}`)) {
      const inside = zone.zone.endsWith(`.${other.zone}`);
      report(
        problemAt(source, at, {
          message: `${formatPath(at)} is ${quote(zone.zone)}, which lies ${inside ? "inside" : "around"} ${quote(other.zone)} at ${place}: which of them a name belongs to would be unclear.`,
          remedy: "Put the names of both into the outer zone.",
          code: "CONFIG_ZONE_NESTED",
        }),
      );
    }
  }
}

function isError(problem: Problem): boolean {
  return problem.severity !== "warning";
}

/**
 * Each problem once, since what defaults say wrongly shows up in every endpoint; the main file's first, then file by
 * file, each from top to bottom.
 */
function distinct(problems: readonly Problem[], mainFile: string): Problem[] {
  const files = [...new Set([mainFile, ...problems.map(({ file }) => file)])];
  const keyed = new Map(problems.toReversed().map((it) => [`${it.file}:${it.line}:${it.column}:${it.code}`, it]));
  return [...keyed.values()]
    .toReversed()
    .sort((a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line || a.column - b.column);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}
