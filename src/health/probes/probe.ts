import type { ProbeConfig, SingleProbeConfig } from "../../config/config.js";
import { singleProbes } from "../../config/probe-list.js";
import type { Clock } from "../../lib/clock.js";
import type { ProbeResult } from "../health.js";
import { probeAll } from "./all.js";
import { type Attempt, runAttempt } from "./attempt.js";
import { probeExec } from "./exec.js";
import type { ProbeFiles } from "./files.js";
import { probeHttp } from "./http.js";
import { probeHttps } from "./https.js";
import { createSessions } from "./sessions.js";
import type { ProbeTarget } from "./target.js";
import { probeTcp } from "./tcp.js";

/**
 * Makes one probe over a fresh connection, inside `config.timeoutMs`. Never rejects. When it resolves, its sockets
 * and timers are released; aborting `signal` ends it at once, with a result that means nothing.
 *
 * @param onConnected called when there is a connection, or none is to be made; not called if the probe ends before
 */
export type RunProbe = (
  target: ProbeTarget,
  config: ProbeConfig,
  signal?: AbortSignal,
  onConnected?: () => void,
) => Promise<ProbeResult>;

/** The probes of this version, by the `type` of their configuration. */
export function createRunProbe(clock: Clock, files: ProbeFiles): RunProbe {
  const sessions = createSessions(clock, Math.random);
  const run: RunProbe = (target, config, signal, onConnected) =>
    runAttempt(clock, { timeoutMs: config.timeoutMs, connectMs: connectMsOf(config) }, signal, (attempt) => {
      attempt.onConnected = onConnected;
      return begin(target, config, attempt);
    });
  function begin(target: ProbeTarget, config: ProbeConfig, attempt: Attempt): void | Promise<void> {
    const { address } = target;
    switch (config.type) {
      case "https":
        return probeHttps(address, config, files, sessions, clock, attempt);
      case "http":
        return probeHttp(address, config, files, attempt);
      case "tcp":
        return probeTcp(address, config, attempt);
      case "none":
        return attempt.end("ok", "not probed");
      case "exec":
        return probeExec(target, config, attempt);
      case "all":
        return probeAll(config.probes, attempt, (one, signal) => run(target, one, signal));
    }
  }
  return run;
}

/** Time in which the probe itself must have a connection. The probes of a list have their own. */
function connectMsOf({ type, connectTimeoutMs }: ProbeConfig): number | undefined {
  return type === "https" || type === "http" || type === "tcp" ? connectTimeoutMs : undefined;
}

/**
 * Equal for two probes that would find the same: same address and everything that goes into the request. When and
 * how often to probe, and what to conclude, may differ. A program is told its target, and so is never shared.
 */
export function probeKey({ address, fqdn, target }: ProbeTarget, config: ProbeConfig): string {
  const probes = singleProbes(config);
  const whose = probes.some(({ type }) => type === "exec") ? [fqdn ?? "", target ?? ""] : [];
  return JSON.stringify([address, ...whose, ...probes.map(requestOf)]);
}

/** What goes into the request, in an order that does not depend on how the configuration was written. */
function requestOf(config: SingleProbeConfig): readonly (readonly [string, unknown])[] {
  const { intervalMs, recheckMs, rise, fall, thresholds, flap, tripwire, ...request } = config;
  return Object.entries(request).sort(([a], [b]) => (a < b ? -1 : 1));
}
