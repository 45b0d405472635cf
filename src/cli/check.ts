import type { Command } from "commander";
import { z } from "zod";
import { ZoneCompiler } from "../answers/zone-compiler.js";
import type { EndpointConfig } from "../config/config.js";
import { RECOMMENDED_DELAY_SECONDS, requiredShutdownDelaySeconds, seesShutdown } from "../doctor/judge-files.js";
import { FAILURE_KINDS, worstCaseReturnMs, worstCaseTimelines } from "../health/timeline.js";
import type { Problem } from "../lib/errors.js";
import { ConfigurationError, type Prepared, prepare } from "../server/load-zones.js";
import { nameWithoutDot } from "../wire/name.js";
import { LiveZone } from "../zone/live-zone.js";
import { CONFIG_OPTION, findConfigFile } from "./config-file.js";
import { type CommandContext, EXIT } from "./exit.js";
import { type InspectedSource, inspectSources, warnOfProposals } from "./inspect-sources.js";
import { warnOfMissingAddresses } from "./missing-addresses.js";
import { endQuietlyWithoutReader, writeJson } from "./output.js";
import { printProblems } from "./problems.js";

const problemSchema = z.strictObject({
  file: z.string(),
  line: z.int(),
  column: z.int(),
  severity: z.enum(["error", "warning"]),
  message: z.string(),
  remedy: z.string(),
  code: z.string(),
});

/** What `livezone check --json` prints, whether the configuration is good or not. */
export const checkReportSchema = z.strictObject({
  file: z.string(),
  good: z.boolean(),
  problems: z.array(problemSchema).describe("Errors, and warnings, which leave it good."),
  zones: z.array(
    z.strictObject({
      zone: z.string(),
      names: z.int().describe("Names that exist in the zone."),
      endpoints: z.array(
        z.strictObject({
          endpoint: z.string(),
          port: z.int(),
          ttl: z.int().describe("Seconds."),
          targets: z.int(),
          sources: z
            .array(
              z.strictObject({
                source: z.string(),
                candidates: z.array(z.string()).optional().describe("What it proposes; absent = it cannot be read."),
                problem: z.string().optional().describe("Why it cannot be read now."),
              }),
            )
            .optional()
            .describe("Sources of targets, as they are now."),
          timelines: z.array(
            z.strictObject({
              kind: z.enum(FAILURE_KINDS),
              detectionMs: z.number().describe("Until the address is withdrawn, worst case."),
              forgottenMs: z.number().describe("Until no cache that honours the TTL holds it, worst case."),
            }),
          ),
          returnMs: z.number().describe("Until a target that works again is answered, worst case."),
          shutdownDelaySeconds: z
            .int()
            .describe(
              "Least --shutdown-delay-duration of its apiservers; 0 if the probe cannot see that one is about to stop.",
            ),
        }),
      ),
    }),
  ),
});

type CheckReport = z.infer<typeof checkReportSchema>;

type CheckedEndpoint = CheckReport["zones"][number]["endpoints"][number];

/** `livezone check`: the way `serve` starts, up to the sockets. */
export function addCheck(program: Command, context: CommandContext): void {
  program
    .command("check")
    .description("say whether the configuration can be served, and how fast each endpoint lets go of a failed target")
    .option(...CONFIG_OPTION)
    .option("--json", "print the result as JSON")
    .action(async (options: { config?: string; json?: true }) => {
      endQuietlyWithoutReader();
      const file = findConfigFile(options.config);
      const report = await check(file);
      if (options.json === true) writeJson(process.stdout, report);
      else {
        printProblems(report.problems);
        if (report.good) process.stdout.write(renderCheck(report));
      }
      context.exit(report.good ? EXIT.success : EXIT.failure);
    });
}

async function check(file: string): Promise<CheckReport> {
  let prepared: Prepared;
  try {
    prepared = prepare(file);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return { file, good: false, problems: error.problems.map(withSeverity), zones: [] };
  }
  const { config, zones, warnings } = prepared;
  const problems = [
    ...warnings,
    ...(await warnOfMissingAddresses(config)),
    ...config.zones.flatMap(({ endpoints }) => endpoints.flatMap(longDelay)),
  ];
  const sources = await inspectSources(config);
  problems.push(...sources.flatMap(({ warnings: of }) => of), ...warnOfProposals(config, sources));
  return {
    file,
    good: true,
    problems: problems.map(withSeverity),
    zones: zones.map((zone) => ({
      zone: nameWithoutDot(zone.name),
      names: new ZoneCompiler(new LiveZone(zone, new Map(), Date.now())).compile().nodes.length,
      endpoints: zone.config.endpoints.map((endpoint) => checkEndpoint(endpoint, sources)),
    })),
  };
}

function withSeverity(problem: Problem) {
  return { ...problem, severity: problem.severity ?? ("error" as const) };
}

function checkEndpoint(endpoint: EndpointConfig, sources: readonly InspectedSource[]): CheckedEndpoint {
  const { fqdn, port, ttl, targets, probe } = endpoint;
  const own = sources.filter((one) => one.fqdn === fqdn).map(({ inspected }) => inspected);
  return {
    endpoint: fqdn,
    port,
    ttl,
    targets: targets.length,
    ...(own.length === 0 ? {} : { sources: own }),
    timelines: probe.type === "none" ? [] : [...worstCaseTimelines(probe, ttl)],
    returnMs: probe.type === "none" ? 0 : worstCaseReturnMs(probe),
    shutdownDelaySeconds: seesShutdown(probe) ? requiredShutdownDelaySeconds(endpoint) : 0,
  };
}

/** Warns of an endpoint that lets go so slowly that the usual shutdown delay is too short. */
function longDelay(endpoint: EndpointConfig): Problem[] {
  const required = requiredShutdownDelaySeconds(endpoint);
  if (!seesShutdown(endpoint.probe) || required <= RECOMMENDED_DELAY_SECONDS) return [];
  return [
    {
      ...endpoint.position,
      severity: "warning",
      message: `a stopping apiserver of ${endpoint.fqdn} may be answered for ${required} s, longer than the usual shutdown delay of ${RECOMMENDED_DELAY_SECONDS} s.`,
      remedy: `Set --shutdown-delay-duration=${required}s (and terminationGracePeriodSeconds above it), or shorten interval or ttl.`,
      code: "SHUTDOWN_DELAY_LONG",
    },
  ];
}

function renderCheck({ file, zones }: CheckReport): string {
  const endpoints = zones.flatMap((zone) => zone.endpoints);
  const lines = zones.map(
    (one) => `  ${one.zone}: ${counted(one.endpoints.length, "endpoint")}, ${counted(one.names, "name")}\n`,
  );
  const head = `${file}: ${counted(zones.length, "zone")}, ${counted(endpoints.length, "endpoint")}: good\n${lines.join("")}`;
  if (endpoints.length === 0) return head;
  const rows = endpoints.map((endpoint) => [
    endpoint.endpoint,
    String(endpoint.port),
    String(endpoint.targets),
    `${endpoint.ttl} s`,
    ...FAILURE_KINDS.map((kind) => timeline(endpoint, kind)),
    endpoint.timelines.length === 0 ? "-" : seconds(endpoint.returnMs),
    endpoint.shutdownDelaySeconds === 0 ? "-" : `${endpoint.shutdownDelaySeconds} s`,
  ]);
  return `${head}
Worst case from a failure until it is noticed -> until no cache holds the address:

${table([["endpoint", "port", "targets", "ttl", "refused, not ready", "hangs", "fails otherwise", "back after", "shutdown delay"], ...rows])}${blindNote(endpoints)}${sourceNotes(endpoints)}`;
}

/** A line for endpoints whose probe looks at something else than `/readyz`. */
function blindNote(endpoints: readonly CheckedEndpoint[]): string {
  const blind = endpoints.filter(
    ({ timelines, shutdownDelaySeconds }) => timelines.length > 0 && shutdownDelaySeconds === 0,
  );
  if (blind.length === 0) return "";
  return `\nshutdown delay -: the probe does not ask /readyz, so it cannot see that an apiserver is about to stop. Drain its target first.\n`;
}

/** A line for each source of targets that can be read. */
function sourceNotes(endpoints: readonly CheckedEndpoint[]): string {
  const lines = endpoints.flatMap(({ endpoint, sources = [] }) =>
    sources.flatMap(({ source, candidates }) =>
      candidates === undefined
        ? []
        : [
            `${endpoint}: ${source} proposes ${counted(candidates.length, "target")}: ${candidates.slice(0, 8).join(", ")}\n`,
          ],
    ),
  );
  return lines.length === 0 ? "" : `\n${lines.join("")}`;
}

function timeline({ timelines }: CheckedEndpoint, kind: string): string {
  const found = timelines.find((one) => one.kind === kind);
  return found === undefined ? "not probed" : `${seconds(found.detectionMs)} -> ${seconds(found.forgottenMs)}`;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`;
}

function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_cell, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}
