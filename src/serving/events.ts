import type { TargetLabels } from "../admin/metrics.js";
import type { Transition } from "../health/health.js";
import type { Problem } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import { isAnswerable, type ServedEndpoint } from "./endpoints.js";

/** How logs and metrics name an address of a target. */
export function labelsOf({ zone, config }: ServedEndpoint, target: string, address: string): TargetLabels {
  return { zone: zone.zone, endpoint: config.name, target, address };
}

/** Logs a change of an address's health, once the answers have followed it. */
export function logTransition(log: Logger, served: ServedEndpoint, transition: Transition): void {
  const { target, address, from, to, result, afterMs } = transition;
  const fields = {
    ...labelsOf(served, target, address),
    from,
    class: result.class,
    reason: result.reason,
    afterMs: Math.round(afterMs),
  };
  const isAnswered = isAnswerable(served.answerable, target, address);
  if (to === "up") log.info(fields, isAnswered ? "target answered" : "target came up");
  else log.warn(fields, isAnswered ? "target went down, still answered" : "target withdrawn");
}

/** Logs on what grounds an endpoint answers now: by health, by `whenAllDown`, or not at all. */
export function logMode(log: Logger, { zone, config, answerable }: ServedEndpoint): void {
  const { mode, upTargets, addresses } = answerable;
  const fields = {
    zone: zone.zone,
    endpoint: config.name,
    upTargets,
    targets: config.targets.length,
    minHealthy: config.minHealthy,
    answers: addresses.map(({ address }) => address),
  };
  if (mode === "healthy") log.info(fields, "endpoint recovered");
  else if (mode === "fail-open") log.error(fields, "endpoint failed open");
  else log.error(fields, "endpoint has no answer");
}

/** Logs what is wrong with a configuration, a line each. */
export function logProblems(log: Logger, problems: readonly Problem[]): void {
  for (const { file, line, column, message, remedy, code, severity } of problems) {
    const fields = { at: `${file}:${line}:${column}`, code, message, remedy };
    if (severity === "warning") log.warn(fields, "configuration warning");
    else log.error(fields, "configuration problem");
  }
}
