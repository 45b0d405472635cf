import type { ProbeConfig } from "../../../src/config/config.js";
import type { ProbePhase, ProbeResult, ResultClass } from "../../../src/health/health.js";
import type { RunProbe } from "../../../src/health/probes/probe.js";
import type { OpenTripwire } from "../../../src/health/tripwires.js";
import type { Clock } from "../../../src/lib/clock.js";
import { type Condition, holding } from "./conditions.js";

/** When the first packet of a connection is sent, milliseconds from the start: Linux repeats it after 1, 3 and 7 s. */
const SYN_MS = [0, 1_000, 3_000, 7_000];

/** Shortest time after which a lost packet of a connection is sent again, milliseconds. */
const RETRANSMIT_MS = 200;

/** Most times that one packet is sent. */
const MAX_SENDS = 8;

/** What a probe will find. Moments are those of the clock. */
interface Outcome {
  readonly class: ResultClass;
  readonly endedMs: number;
  readonly phase?: ProbePhase;
  /** Absent if there is no connection. */
  readonly connectedMs?: number;
}

/** The conditions that probes of one server meet on their way to one target. */
interface Path {
  readonly target: readonly Condition[];
  readonly network: readonly Condition[];
}

type Random = () => number;

function isCut({ target, network }: Path, atMs: number): boolean {
  return holding(target, "black-hole", atMs) !== undefined || holding(network, "black-hole", atMs) !== undefined;
}

function isLost(path: Path, atMs: number, random: Random): boolean {
  if (isCut(path, atMs)) return true;
  const share = holding(path.network, "loss", atMs)?.share ?? holding(path.target, "loss", atMs)?.share ?? 0;
  // There and back.
  return share > 0 && random() < 1 - (1 - share) ** 2;
}

/** Moment at which a packet and the reply to it have got through; never = `Infinity`. */
function delivered(path: Path, fromMs: number, random: Random): number {
  let atMs = fromMs;
  for (let sends = 0; sends < MAX_SENDS; sends += 1) {
    if (!isLost(path, atMs, random)) return atMs + 1;
    atMs += RETRANSMIT_MS * 2 ** sends;
  }
  return Number.POSITIVE_INFINITY;
}

/** Moment at which the process has done something that takes `workMs` when it runs; undefined if it is gone before. */
function worked({ target }: Path, fromMs: number, workMs: number): number | undefined {
  let atMs = fromMs;
  for (let stopped = holding(target, "stopped", atMs); stopped; stopped = holding(target, "stopped", atMs)) {
    atMs = stopped.toMs;
  }
  atMs += workMs;
  const isGone = target.some(({ kind, fromMs: goneMs, toMs }) => kind === "gone" && goneMs <= atMs && toMs > fromMs);
  return isGone ? undefined : atMs;
}

/** What a probe that starts now will find. */
export function outcomeOf(
  path: Path,
  startedMs: number,
  { timeoutMs, connectTimeoutMs = timeoutMs }: Pick<ProbeConfig, "timeoutMs" | "connectTimeoutMs">,
  random: Random,
): Outcome {
  if (holding(path.network, "no-route", startedMs)) return { class: "unreachable", endedMs: startedMs + 1 };
  const lateMs = startedMs + timeoutMs;
  const unconnectedMs = startedMs + connectTimeoutMs;
  const sentMs = SYN_MS.map((ms) => startedMs + ms).find((ms) => ms < unconnectedMs && !isLost(path, ms, random));
  if (sentMs === undefined) return { class: "timeout", phase: "connect", endedMs: unconnectedMs };
  const connectedMs = sentMs + 1;
  if (holding(path.target, "gone", sentMs)) return { class: "refused", endedMs: connectedMs };
  const late = (phase: ProbePhase): Outcome => ({ class: "timeout", phase, endedMs: lateMs, connectedMs });
  const reset = (atMs: number): Outcome => ({ class: "reset", endedMs: Math.min(lateMs, atMs + 1), connectedMs });

  const greetedMs = worked(path, connectedMs, 5 + 10 * random());
  if (greetedMs === undefined) return reset(goneMsOf(path, connectedMs));
  const secureMs = delivered(path, greetedMs, random);
  if (secureMs >= lateMs) return late("tls");
  if (holding(path.target, "untrusted", secureMs)) return { class: "tls-untrusted", endedMs: secureMs, connectedMs };

  const askedMs = delivered(path, secureMs, random);
  const answer = holding(path.target, "answers", askedMs);
  const answeredMs = worked(path, askedMs, answer?.tookMs ?? 3);
  if (answeredMs === undefined) return reset(goneMsOf(path, askedMs));
  const endedMs = delivered(path, answeredMs, random);
  return endedMs >= lateMs ? late("response") : { class: answer?.class ?? "ok", endedMs, connectedMs };
}

function goneMsOf({ target }: Path, fromMs: number): number {
  const gone = target.filter(({ kind, toMs }) => kind === "gone" && toMs > fromMs).map(({ fromMs: ms }) => ms);
  return Math.max(fromMs, Math.min(...gone));
}

/** How the simulated probes differ from those of this version. */
export interface ProberOptions {
  /** Results without a phase and connections that are not told, and 429 as any other status: livezone before 0.2. */
  readonly isOld?: boolean;
}

/** The probes of one server. Addresses are indexes of targets. */
export function simulatedProber(
  clock: Clock,
  random: Random,
  paths: readonly Path[],
  { isOld = false }: ProberOptions,
): { readonly runProbe: RunProbe; readonly openTripwire: OpenTripwire } {
  const pathTo = (address: string): Path => paths[Number(address)] ?? { target: [], network: [] };
  return {
    runProbe: ({ address }, config, signal, onConnected) =>
      new Promise((resolve) => {
        const startedMs = clock.monotonicMs();
        const outcome = outcomeOf(pathTo(address), startedMs, config, random);
        const { connectedMs, endedMs } = outcome;
        const connecting =
          connectedMs === undefined ? undefined : clock.after(connectedMs - startedMs, () => onConnected?.());
        const ending = clock.after(endedMs - startedMs, () => resolve(resultOf(outcome, endedMs - startedMs, isOld)));
        signal?.addEventListener("abort", () => {
          connecting?.cancel();
          ending.cancel();
          resolve({ class: "timeout", reason: "stopped", durationMs: 0 });
        });
      }),
    openTripwire(address, _config, onEnd) {
      const path = pathTo(address);
      const nowMs = clock.monotonicMs();
      const goneMs = Math.min(
        ...path.target.filter(({ kind, fromMs }) => kind === "gone" && fromMs > nowMs).map(({ fromMs }) => fromMs),
      );
      const isOpen = outcomeOf(path, nowMs, { timeoutMs: 1_000 }, random).class === "ok";
      if (!isOpen) return clock.after(1, () => onEnd("failed")).cancel;
      if (!Number.isFinite(goneMs) || isCut(path, goneMs)) return () => {};
      return clock.after(goneMs - nowMs + 1, () => onEnd("tripped")).cancel;
    },
  };
}

function resultOf({ class: found, phase }: Outcome, durationMs: number, isOld: boolean): ProbeResult {
  const resultClass = isOld && found === "overloaded" ? "unexpected-status" : found;
  return { class: resultClass, reason: found, durationMs, ...(phase && !isOld ? { phase } : {}) };
}
