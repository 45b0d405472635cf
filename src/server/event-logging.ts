import type { TargetLabels } from "../admin/metrics.js";
import type { CertificateWarning } from "../health/certificates.js";
import type { Transition } from "../health/health.js";
import type { OverrideChange } from "../health/overrides.js";
import type { StateAlarm } from "../health/state-file.js";
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

/** Logs what an operator said of a target, or that it has ended. @param served absent if it is not configured (now) */
export function logOverride(log: Logger, served: ServedEndpoint | undefined, { action, entry }: OverrideChange): void {
  const { endpoint, target, kind, reason, author, expiresAtMs } = entry;
  const names = served === undefined ? { endpoint } : { zone: served.zone.zone, endpoint: served.config.name };
  const until = expiresAtMs === undefined ? {} : { until: new Date(expiresAtMs).toISOString() };
  log.info({ ...names, target, override: kind, reason, author, ...until }, `override ${action}`);
}

/** Logs that a certificate ends soon, or does not fit its endpoint. */
export function logCertificate(log: Logger, served: ServedEndpoint, warning: CertificateWarning): void {
  const fields = labelsOf(served, warning.target, warning.address);
  if (warning.kind === "name") {
    log.warn(
      { ...fields, wants: warning.fqdn, names: warning.names },
      "certificate does not cover the endpoint's name",
    );
    return;
  }
  const expiry = { ...fields, expires: new Date(warning.expiryMs).toISOString() };
  if (warning.days === 0) log.error(expiry, "certificate has expired");
  else log.warn({ ...expiry, withinDays: warning.days }, "certificate expires soon");
}

/** Makes loud that the prober is presumed cut off, and that it is not any more. */
export function logIsolation(log: Logger, isolated: boolean): void {
  if (isolated) log.error({}, "prober isolated, the last answers are held");
  else log.info({}, "prober connected again");
}

/** Makes loud that a file of the state folder could not be used; the server runs without what it held. */
export function logStateAlarm(log: Logger, { file, problem, setAside }: StateAlarm): void {
  log.error({ file, problem, setAside }, setAside === undefined ? "state file ignored" : "state file set aside");
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
