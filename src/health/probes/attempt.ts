import type { Clock, Timer } from "../../lib/clock.js";
import { messageOf } from "../../lib/errors.js";
import type { ProbePhase, ProbeResult, ResultClass } from "../health.js";

/** Longest reason, characters; see {@link ProbeResult.reason}. */
const MAX_REASON = 200;

/** What is known of the certificate that a server presented. */
export type CertificateFacts = Pick<ProbeResult, "certificateExpiryMs" | "certificateNames" | "certificateNotYetValid">;

/** One probe under way: it ends once, and everything it opened ends with it. */
export class Attempt {
  /** What is known of the certificate that was presented. */
  certificate: CertificateFacts | undefined;
  /** The step it is in. */
  phase: ProbePhase = "connect";
  /** What is being waited for, as reasons name it: `connection`, `TLS handshake`, `response`. */
  awaited = "connection";
  /** Called when it leaves the phase `connect`. */
  onConnected: (() => void) | undefined;
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal | undefined;
  readonly #resolve: (result: ProbeResult) => void;
  readonly #releases: (() => void)[] = [];
  readonly #stop: () => void;
  #timer: Timer | undefined;
  #connectTimer: Timer | undefined;
  #result: ResultClass | undefined;

  constructor(
    clock: Clock,
    timeoutMs: number,
    signal: AbortSignal | undefined,
    resolve: (result: ProbeResult) => void,
  ) {
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
    this.#timeoutMs = timeoutMs;
    this.#signal = signal;
    this.#resolve = resolve;
    this.#stop = () => this.end("timeout", "the probe was stopped");
  }

  /** True once there is a result; nothing may be opened then. */
  get ended(): boolean {
    return this.#result !== undefined;
  }

  /** The class of the result, once there is one. */
  get result(): ResultClass | undefined {
    return this.#result;
  }

  /** Enters a step. @param awaited what is being waited for now; see {@link awaited} */
  waitFor(phase: ProbePhase, awaited: string): void {
    if (this.phase === "connect" && phase !== "connect") {
      this.#connectTimer?.cancel();
      this.onConnected?.();
    }
    this.phase = phase;
    this.awaited = awaited;
  }

  /** The first call decides, later ones are ignored. `reason` may hold what came from the network. */
  end(resultClass: ResultClass, reason: string): void {
    if (this.ended) return;
    this.#result = resultClass;
    this.#timer?.cancel();
    this.#connectTimer?.cancel();
    this.#signal?.removeEventListener("abort", this.#stop);
    for (const release of this.#releases) release();
    this.#resolve({
      class: resultClass,
      reason: plain(reason, MAX_REASON),
      durationMs: this.#clock.monotonicMs() - this.#startedMs,
      ...(resultClass === "timeout" ? { phase: this.phase } : undefined),
      ...this.certificate,
    });
  }

  /** Ends it because of an error of the probe itself, which says nothing of the target. */
  fail(error: unknown): void {
    this.end("unreachable", `the probe could not be made: ${messageOf(error)}`);
  }

  /** Runs `release` when the attempt ends, at once if it has. */
  onEnd(release: () => void): void {
    if (this.ended) release();
    else this.#releases.push(release);
  }

  /**
   * `listener` for an event, which then throws nothing at Node: an error ends the attempt as one of the probe's own,
   * and nothing runs once the attempt has ended.
   */
  guard<Args extends unknown[]>(listener: (...args: Args) => void): (...args: Args) => void {
    return (...args) => {
      if (this.ended) return;
      try {
        listener(...args);
      } catch (error) {
        this.fail(error);
      }
    };
  }

  /** Begins its time. @param connectTimeoutMs in which a connection must be made; absent = no less than the rest */
  start(begin: (attempt: Attempt) => void | Promise<void>, connectTimeoutMs?: number): void {
    // Node runs timers before it looks at sockets: an answer that came while this process was busy is let in first.
    this.#timer = this.#clock.after(this.#timeoutMs, () => setImmediate(() => this.#runOut(this.#timeoutMs)));
    if (connectTimeoutMs !== undefined) {
      this.#connectTimer = this.#clock.after(connectTimeoutMs, () =>
        setImmediate(() => {
          if (this.phase === "connect") this.#runOut(connectTimeoutMs);
        }),
      );
    }
    this.#signal?.addEventListener("abort", this.#stop, { once: true });
    if (this.#signal?.aborted) {
      this.#stop();
      return;
    }
    try {
      begin(this)?.catch((error: unknown) => this.fail(error));
    } catch (error) {
      this.fail(error);
    }
  }

  #runOut(ms: number): void {
    const { awaited } = this;
    this.end("timeout", `no ${awaited} within ${ms >= 1000 ? `${ms / 1000} s` : `${ms} ms`}`);
  }
}

/**
 * Runs one probe inside its time.
 *
 * @param timeoutMs for the whole probe; `connectMs` for its connection, no longer than that if absent
 * @param begin starts the probe and returns at once, or returns a promise of having started it; what it throws
 *   becomes the result
 * @param signal ends the probe early; its result is then without meaning
 */
export function runAttempt(
  clock: Clock,
  { timeoutMs, connectMs }: { readonly timeoutMs: number; readonly connectMs?: number | undefined },
  signal: AbortSignal | undefined,
  begin: (attempt: Attempt) => void | Promise<void>,
): Promise<ProbeResult> {
  return new Promise((resolve) => new Attempt(clock, timeoutMs, signal, resolve).start(begin, connectMs));
}

/** Text from the network made fit for a log line: one line, printable, cut to `limit` characters. */
export function plain(text: string, limit: number): string {
  const line = text.slice(0, 4 * limit).replace(/[^\x20-\x7e]+/g, " ");
  return line.length <= limit ? line : `${line.slice(0, limit - 3)}...`;
}
