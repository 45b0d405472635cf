import type { Clock } from "../../lib/clock.js";
import { messageOf } from "../../lib/errors.js";
import type { ProbeResult, ResultClass } from "../health.js";

/** Longest reason, characters; see {@link ProbeResult.reason}. */
const MAX_REASON = 200;

/** One probe under way: it ends once, and everything it opened ends with it. */
export interface Attempt {
  /** What is being waited for, as reasons name it: `connection`, `TLS handshake`, `response`. */
  phase: string;
  /** What is known of the certificate that was presented. */
  certificate?: Pick<ProbeResult, "certificateExpiryMs" | "certificateNames">;
  /** True once there is a result; nothing may be opened then. */
  readonly ended: boolean;
  /** The class of the result, once there is one. */
  readonly result: ResultClass | undefined;
  /** The first call decides, later ones are ignored. `reason` may hold what came from the network. */
  end(resultClass: ResultClass, reason: string): void;
  /** Runs `release` when the attempt ends, at once if it has. */
  onEnd(release: () => void): void;
  /**
   * `listener` for an event, which then throws nothing at Node: an error ends the attempt as one of the probe's own,
   * and nothing runs once the attempt has ended.
   */
  guard<Args extends unknown[]>(listener: (...args: Args) => void): (...args: Args) => void;
}

/**
 * Runs one probe inside its time.
 *
 * @param begin starts the probe and returns at once, or returns a promise of having started it; what it throws
 *   becomes the result
 * @param signal ends the probe early; its result is then without meaning
 */
export function runAttempt(
  clock: Clock,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  begin: (attempt: Attempt) => void | Promise<void>,
): Promise<ProbeResult> {
  return new Promise((resolve) => {
    const startedMs = clock.monotonicMs();
    const releases: (() => void)[] = [];
    let ended = false;
    let result: ResultClass | undefined;

    const attempt: Attempt = {
      phase: "connection",
      get ended() {
        return ended;
      },
      get result() {
        return result;
      },
      end(resultClass, reason) {
        if (ended) return;
        ended = true;
        result = resultClass;
        timer.cancel();
        signal?.removeEventListener("abort", stop);
        for (const release of releases) release();
        const durationMs = clock.monotonicMs() - startedMs;
        resolve({
          class: resultClass,
          reason: plain(reason, MAX_REASON),
          durationMs,
          ...attempt.certificate,
        });
      },
      onEnd(release) {
        if (ended) release();
        else releases.push(release);
      },
      guard: (listener) => {
        return (...args) => {
          if (ended) return;
          try {
            listener(...args);
          } catch (error) {
            broken(error);
          }
        };
      },
    };
    const broken = (error: unknown) => attempt.end("unreachable", `the probe could not be made: ${messageOf(error)}`);
    const stop = () => attempt.end("timeout", "the probe was stopped");
    // Node runs timers before it looks at sockets: an answer that came while this process was busy is let in first.
    const timer = clock.after(timeoutMs, () => {
      setImmediate(() => attempt.end("timeout", timeoutReason(attempt.phase, timeoutMs)));
    });
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted) {
      stop();
      return;
    }
    try {
      begin(attempt)?.catch(broken);
    } catch (error) {
      broken(error);
    }
  });
}

/** Text from the network made fit for a log line: one line, printable, cut to `limit` characters. */
export function plain(text: string, limit: number): string {
  const line = text.slice(0, 4 * limit).replace(/[^\x20-\x7e]+/g, " ");
  return line.length <= limit ? line : `${line.slice(0, limit - 3)}...`;
}

function timeoutReason(phase: string, timeoutMs: number): string {
  return `no ${phase} within ${timeoutMs % 1000 === 0 ? `${timeoutMs / 1000} s` : `${timeoutMs} ms`}`;
}
