import type { ProbeConfig } from "../config/config.js";
import type { Clock } from "../lib/clock.js";
import type { ProbeResult } from "./health.js";
import type { ProbeJob } from "./monitored-address.js";
import type { RunProbe } from "./probes/probe.js";
import { JITTER } from "./timeline.js";

/**
 * A probe that has no connection after this time is taken for a network failure until its result is there, milliseconds.
 * Far more than a round trip, and little enough that a prober that is cut off is noticed within an interval and a half
 * of 2 s: the last of its probes begins within 2.2 s.
 */
export const CONNECT_PATIENCE_MS = 750;

/**
 * Time after it in which a connection that the kernel has made already is still told, milliseconds: a process that is busy
 * sees its timers before its connections.
 */
export const LAST_LOOK_MS = 20;

/** One probe that has ended. Moments are monotonic. */
export interface FinishedProbe {
  readonly config: ProbeConfig;
  readonly startedMs: number;
  readonly endedMs: number;
  /** Milliseconds by which it started after its due moment. */
  readonly lagMs: number;
  /** Absent if the probe itself failed, which says nothing of the target. */
  readonly result?: ProbeResult;
}

export interface ProbeSchedulerOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly runProbe: RunProbe;
  readonly maxFirstProbes: number;
  /** The job is planned again by the caller, with {@link ProbeScheduler.arrange}. */
  onFinished(job: ProbeJob, finished: FinishedProbe): void;
  /** A probe has no connection after {@link CONNECT_PATIENCE_MS} and a last look. */
  onUnconnected(job: ProbeJob): void;
}

/** Decides when each job is probed: at most one probe of a job at a time. */
export class ProbeScheduler {
  readonly jobs = new Map<string, ProbeJob>();
  readonly #options: ProbeSchedulerOptions;
  /** First probes that wait for a place, oldest first. */
  readonly #queue = new Set<ProbeJob>();
  #firstProbes = 0;
  #isRunning = false;
  #isStopped = false;

  constructor(options: ProbeSchedulerOptions) {
    this.#options = options;
  }

  /** Begins probing: all jobs at once. */
  start(): void {
    this.#isRunning = true;
    const nowMs = this.#options.clock.monotonicMs();
    for (const job of this.jobs.values()) {
      for (const address of job.addresses) address.dueMs = nowMs;
      this.arrange(job);
    }
  }

  /** Ends all probes. Final. */
  stop(): void {
    this.#isRunning = false;
    this.#isStopped = true;
    for (const job of this.jobs.values()) this.discard(job);
  }

  add(key: string, address: string, config: ProbeConfig, isProbed: boolean): ProbeJob {
    const job: ProbeJob = {
      key,
      address,
      config,
      addresses: new Set(),
      dueMs: 0,
      isProbed,
      cutOff: false,
      isTripped: false,
    };
    this.jobs.set(key, job);
    return job;
  }

  discard(job: ProbeJob): void {
    this.jobs.delete(job.key);
    this.#queue.delete(job);
    job.timer?.cancel();
    job.running?.abort();
  }

  /** Plans the next probe for the address that wants it first. */
  arrange(job: ProbeJob): void {
    if (!this.#isRunning || job.running !== undefined) return;
    job.timer?.cancel();
    job.dueMs = Number.POSITIVE_INFINITY;
    for (const { dueMs } of job.addresses) job.dueMs = Math.min(job.dueMs, dueMs);
    const delayMs = job.dueMs - this.#options.clock.monotonicMs();
    if (delayMs <= 0) this.#begin(job);
    else job.timer = this.#options.clock.after(delayMs, () => this.arrange(job));
  }

  /** Plans the next probe for `delayMs` from now, if it was to come later. */
  hurry(job: ProbeJob, delayMs: number): void {
    const dueMs = this.#options.clock.monotonicMs() + delayMs;
    for (const address of job.addresses) address.dueMs = Math.min(address.dueMs, dueMs);
    this.arrange(job);
  }

  #begin(job: ProbeJob): void {
    const { clock, runProbe, maxFirstProbes, onUnconnected } = this.#options;
    const isFirst = !job.isProbed;
    if (isFirst && this.#firstProbes >= maxFirstProbes) {
      this.#queue.add(job);
      return;
    }
    if (isFirst) this.#firstProbes += 1;
    this.#queue.delete(job);
    const controller = new AbortController();
    job.running = controller;
    const { config } = job;
    const [first] = job.addresses;
    const { fqdn = "", target = "" } = first?.view ?? {};
    const startedMs = clock.monotonicMs();
    const lagMs = startedMs - job.dueMs;
    let patience = clock.after(CONNECT_PATIENCE_MS, () => {
      patience = clock.after(LAST_LOOK_MS, () => onUnconnected(job));
    });
    controller.signal.addEventListener("abort", () => patience.cancel(), { once: true });
    runProbe({ address: job.address, fqdn, target }, config, controller.signal, () => patience.cancel())
      .catch(
        // A probe never rejects; should one all the same, that is livezone's trouble and no evidence.
        () => undefined,
      )
      .then((result) => {
        patience.cancel();
        if (isFirst) this.#firstProbes -= 1;
        this.#end(job, { config, startedMs, lagMs }, result);
        const next = this.#queue.values().next();
        if (!this.#isStopped && next.value !== undefined && this.#firstProbes < maxFirstProbes) this.#begin(next.value);
      });
  }

  #end(job: ProbeJob, begun: Omit<FinishedProbe, "endedMs">, result: ProbeResult | undefined): void {
    if (this.#isStopped || this.jobs.get(job.key) !== job) return;
    const { clock, random, onFinished } = this.#options;
    delete job.running;
    const endedMs = clock.monotonicMs();
    // The second probe comes anywhere in the interval, so that what started together does not stay together.
    const spread = job.isProbed ? 1 - JITTER + 2 * JITTER * random() : random();
    job.isProbed = true;
    for (const address of job.addresses) {
      address.dueMs = Math.max(endedMs, begun.startedMs + address.config.intervalMs * spread);
    }
    onFinished(job, { ...begun, endedMs, ...(result === undefined ? {} : { result }) });
  }
}
