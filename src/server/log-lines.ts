import type { CertificateWarning } from "../health/certificates.js";
import type { Transition } from "../health/health.js";
import type { OverrideChange } from "../health/override-records.js";
import type { ProbeCredentialEnd } from "../health/probes/files.js";
import type { StateAlarm } from "../health/state-file.js";
import { messageOf, type Problem } from "../lib/errors.js";
import { formatAddress } from "../lib/listening.js";
import type { Logger } from "../lib/logger.js";
import type { PeerCondition } from "../siblings/peer-state.js";
import type { SecondaryState } from "../transfer/notifier.js";
import type { FinishedTransfer } from "../transfer/service.js";
import { nameWithoutDot } from "../wire/name.js";
import { labelsOf } from "./endpoint-labels.js";
import { isAnswerable, type ServedEndpoint } from "./endpoints.js";
import type { EventOf, Subscriber, SuppressionChange } from "./events.js";

/** Stalls from this length on are worth a line in every log, milliseconds. */
const LOUD_STALL_MS = 1_000;

/** Subscriber that writes the log. */
export function eventLogging(log: Logger): Subscriber {
  let isReady = false;
  return {
    "answers-changed": ({ endpoint, before }) => {
      if (isReady && before.mode !== endpoint.answerable.mode) logMode(log, endpoint);
    },
    "health-changed": ({ transition, endpoint }) => {
      if (endpoint !== undefined && transition.to !== "unknown") logTransition(log, endpoint, transition);
    },
    "override-changed": ({ change, endpoint }) => logOverride(log, endpoint, change),
    "suppression-changed": ({ change, endpoint }) => logSuppression(log, endpoint, change),
    "isolation-changed": ({ isolated }) => logIsolation(log, isolated),
    "sibling-changed": ({ sibling, condition, before }) => logSibling(log, sibling, condition, before),
    "sibling-overrides-not-kept": ({ sibling, error }) =>
      log.error({ sibling, error: messageOf(error) }, "sibling's overrides not kept"),
    "sibling-overrides-kept": ({ sibling }) => log.info({ sibling }, "sibling's overrides kept again"),
    stalled: ({ lengthMs }) => {
      if (lengthMs >= LOUD_STALL_MS) log.warn({ stalledMs: Math.round(lengthMs) }, "process stalled");
    },
    "clock-suspected": ({ isSuspected }) => logClock(log, isSuspected),
    "certificate-warning": ({ warning, endpoint }) => logCertificate(log, endpoint, warning),
    "targets-changed": (event) => logTargets(log, event),
    "source-failed": ({ fqdn, source, failure }) => {
      const fields = { endpoint: fqdn, source, problem: failure.problem };
      if (failure.needsOperator) log.error(fields, "discovery source refused, what it said before holds");
      else log.warn(fields, "discovery source failed, what it said before holds");
    },
    "source-recovered": ({ fqdn, source }) => log.info({ endpoint: fqdn, source }, "discovery source works again"),
    "source-noticed": ({ fqdn, notice }) => log.warn({ endpoint: fqdn, notice: notice.text }, "discovery notice"),
    "transfer-finished": ({ transfer }) => logTransfer(log, transfer),
    "secondary-trouble": ({ state, isInTrouble }) => logSecondary(log, state, isInTrouble),
    reloaded: (event) => logReload(log, event),
    "reload-refused": ({ error, problems }) => {
      logProblems(log, problems);
      log.error({ error: messageOf(error), problems: problems.length }, "reload refused, the old configuration stays");
    },
    ready: ({ isComplete, endpoints }) => {
      isReady = true;
      log.info({ isComplete, endpoints: endpoints.length }, "ready");
      for (const endpoint of endpoints) if (endpoint.answerable.mode !== "healthy") logMode(log, endpoint);
    },
    "probe-file-trouble": ({ trouble: { files, problem } }) =>
      log.warn({ files, problem }, "probe file cannot be used, its content before serves"),
    "probe-credential-end": ({ end }) => logCredentialEnd(log, end),
    "state-alarm": ({ alarm }) => logStateAlarm(log, alarm),
    "state-not-saved": ({ error }) => log.error({ error: messageOf(error) }, "state not saved"),
  };
}

/** Logs a change of an address's health, once the answers have followed it. */
function logTransition(log: Logger, served: ServedEndpoint, transition: Transition): void {
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

/** Logs that an override was set, cleared or has expired. @param served absent if it is not configured (now) */
function logOverride(log: Logger, served: ServedEndpoint | undefined, { action, entry, actor }: OverrideChange): void {
  const { endpoint, target, kind, reason, setAtMs, expiresAtMs } = entry;
  const until = expiresAtMs === undefined ? {} : { until: new Date(expiresAtMs).toISOString() };
  const { author, origin } = actor;
  const setBy = action === "set" ? {} : { setBy: entry.author, setAt: new Date(setAtMs).toISOString() };
  log.info(
    { ...namesOf(served, endpoint), target, override: kind, reason, author, origin, ...setBy, ...until },
    `override ${action}`,
  );
}

/** Logs that an address is kept down because it flaps, or is not any more. */
function logSuppression(log: Logger, served: ServedEndpoint | undefined, change: SuppressionChange): void {
  const { fqdn, target, address, isSuppressed, untilMs, changes } = change;
  const fields = { ...namesOf(served, fqdn), target, address };
  if (!isSuppressed) log.info(fields, "suppression ended");
  else log.warn({ ...fields, changes, until: new Date(untilMs ?? 0).toISOString() }, "target suppressed, it flaps");
}

/** An endpoint's zone and name in it; its full name if it is not configured now. */
function namesOf(
  served: ServedEndpoint | undefined,
  fqdn: string,
): { readonly zone?: string; readonly endpoint: string } {
  return served === undefined ? { endpoint: fqdn } : { zone: served.zone.zone, endpoint: served.config.name };
}

/** Logs that a certificate ends soon, or does not fit its endpoint. */
function logCertificate(log: Logger, served: ServedEndpoint, warning: CertificateWarning): void {
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

/** Logs that a token or client certificate of probes ends soon, or has ended. */
function logCredentialEnd(log: Logger, { file, expiryMs, isOver }: ProbeCredentialEnd): void {
  const fields = { file, expires: new Date(expiryMs).toISOString() };
  if (isOver) log.error(fields, "probe credential has expired");
  else log.warn(fields, "probe credential expires soon");
}

/** Makes loud that this machine's clock is the likely cause of certificates that are not valid yet. */
function logClock(log: Logger, isSuspected: boolean): void {
  if (isSuspected) log.error({}, "no certificate is valid yet, this machine's clock is suspect");
  else log.info({}, "certificates are valid by this machine's clock again");
}

/** Logs which targets have come and gone. */
function logTargets(log: Logger, { fqdn, joined, left }: EventOf<"targets-changed">): void {
  for (const { id, addresses, origins } of joined) {
    log.info({ endpoint: fqdn, target: id, addresses, origins }, "target discovered");
  }
  for (const target of left) log.info({ endpoint: fqdn, target }, "target forgotten");
}

/** Logs a transfer; those of what changed are as frequent as changes, and are for those who look closely. */
function logTransfer(log: Logger, transfer: FinishedTransfer): void {
  const { zone, client, kind, serial, octets, durationMs, isComplete } = transfer;
  const fields = { zone: nameWithoutDot(zone), secondary: client, kind, serial, octets };
  if (!isComplete) log.warn({ ...fields, durationMs: Math.round(durationMs) }, "transfer cut");
  else if (kind === "axfr") log.info(fields, "zone transferred");
  else if (kind === "ixfr") log.debug(fields, "changes transferred");
}

/** Makes loud that a secondary gives other answers than this server, and that it gives the same again. */
function logSecondary(log: Logger, state: SecondaryState, isInTrouble: boolean): void {
  const { zone, secondary, checked, acknowledged, trouble, lagMs } = state;
  const fields = { zone: nameWithoutDot(zone), secondary: formatAddress(secondary), serial: checked?.serial };
  if (!isInTrouble) log.info(fields, "secondary follows again");
  else
    log.warn(
      { ...fields, trouble, lagMs: Math.round(lagMs), notify: acknowledged?.rcode },
      "secondary does not follow",
    );
}

/** Makes loud that the prober is presumed cut off, and that it is not any more. */
function logIsolation(log: Logger, isolated: boolean): void {
  if (isolated) log.error({}, "prober isolated, the last answers are held");
  else log.info({}, "prober connected again");
}

/** Makes loud that a file of the state folder could not be used; the server runs without what it held. */
function logStateAlarm(log: Logger, { file, problem, setAside }: StateAlarm): void {
  log.error({ file, problem, setAside }, setAside === undefined ? "state file ignored" : "state file set aside");
}

/** Logs on what grounds an endpoint answers now: by health, by `whenAllDown`, or not at all. */
function logMode(log: Logger, { zone, config, answerable }: ServedEndpoint): void {
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

/** Logs that a new configuration is in force, what is to be said of it, and what of it is not in force yet. */
function logReload(log: Logger, { config, warnings, endpoints, listen, needRestart }: EventOf<"reloaded">): void {
  logProblems(log, warnings);
  for (const pending of needRestart) {
    log.warn({ ...pending, remedy: "Restart livezone when it suits." }, "setting needs a restart");
  }
  log.info({ zones: config.zones.length, endpoints, listen }, "configuration reloaded");
}

/** Logs what is wrong with a configuration, a line each. */
export function logProblems(log: Logger, problems: readonly Problem[]): void {
  for (const { file, line, column, message, remedy, code, severity } of problems) {
    const fields = { at: `${file}:${line}:${column}`, code, message, remedy };
    if (severity === "warning") log.warn(fields, "configuration warning");
    else log.error(fields, "configuration problem");
  }
}

/** Logs that what a sibling says counts from now on, or why not any more. */
function logSibling(log: Logger, sibling: string, condition: PeerCondition, before: PeerCondition): void {
  if (condition === "fresh") log.info({ sibling, before }, "sibling heard");
  else if (condition === "oneself") log.warn({ sibling }, "sibling is this server itself");
  else if (before === "fresh") log.warn({ sibling, condition }, "sibling lost");
  else log.debug({ sibling, condition, before }, "sibling changed");
}
