import type { ProbeConfig } from "../config/config.js";
import type { Clock } from "../lib/clock.js";
import type { ProbeResult, Snapshot, Transition } from "./health.js";
import type { HealthMonitor, HealthMonitorOptions, MonitoredEndpoint, MonitoredTarget } from "./health-monitor.js";
import {
  type MonitoredAddress,
  NOT_PROBED,
  noteResult,
  type ProbeJob,
  updateView,
  withCertificateNote,
} from "./monitored-address.js";
import { type FinishedProbe, ProbeScheduler } from "./probe-scheduler.js";
import { probeKey } from "./probes/probe.js";
import { placeOfProbe } from "./probes/target.js";
import { Publisher } from "./publisher.js";
import { Registry, type ViewedAddress } from "./registry.js";
import { type Ignored, ResultFilter } from "./result-filter.js";
import { initialState, isNetworkFailure, knownState, step, withoutDoubt, withoutFlaps } from "./state.js";
import { createTripwires, type Tripwires } from "./tripwires.js";

/**
 * Pause between a tripwire's end and the probe, milliseconds: a process that dies closes its connections and its
 * listener one after the other, and a connection made in between would be reset, which is weaker evidence.
 */
const TRIP_DELAY_MS = 20;

/** Least time between two probes of an address for hints, milliseconds. */
const HINT_EVERY_MS = 200;

export function createHealthMonitor(options: HealthMonitorOptions): HealthMonitor {
  return new Monitor(options);
}

class Monitor implements HealthMonitor {
  readonly firstRound: Promise<void>;
  readonly #options: HealthMonitorOptions;
  readonly #clock: Clock;
  readonly #registry: Registry<MonitoredAddress>;
  readonly #scheduler: ProbeScheduler;
  readonly #filter: ResultFilter;
  readonly #publisher: Publisher;
  readonly #tripwires: Tripwires | undefined;
  #endFirstRound: () => void = () => {};
  /** Addresses that the first round waits for. */
  #awaited = 0;
  #isRunning = false;
  #isStopped = false;

  constructor(options: HealthMonitorOptions) {
    const { clock, random, runProbe, maxFirstProbes = 256, openTripwire } = options;
    this.#options = options;
    this.#clock = clock;
    this.#registry = new Registry(options.overrideOf);
    this.firstRound = new Promise((resolve) => {
      this.#endFirstRound = resolve;
    });
    this.#scheduler = new ProbeScheduler({
      clock,
      random,
      runProbe,
      maxFirstProbes,
      onFinished: (job, finished) => this.#finish(job, finished),
      onUnconnected: (job) => this.#filter.noteUnconnected(job, job.config.intervalMs, this.#scheduler.jobs.size),
    });
    this.#filter = new ResultFilter({
      clock,
      knowsBetter: () => options.knowsBetter?.() === true,
      onStall: (lengthMs) => {
        // What was seen before a pause longer than the interval is too old to be added to what comes.
        this.#forgetDoubts(({ config }) => config.intervalMs < lengthMs);
        options.onStall?.(lengthMs);
      },
      onIsolation: (isolated) => {
        this.#forgetDoubts(() => true);
        options.onIsolation?.(isolated);
      },
    });
    this.#publisher = new Publisher({
      clock,
      registry: this.#registry,
      ask: (job) => this.#scheduler.hurry(job, 0),
      update: (address) => this.#updateView(address),
      onDue: (fqdn) => this.#report(this.#publisher.publish([fqdn], this.#filter.isolated)),
    });
    this.#tripwires = openTripwire && createTripwires(clock, openTripwire, (key) => this.#tripped(key));
  }

  configure(endpoints: readonly MonitoredEndpoint[]): void {
    const stay = new Set(endpoints.map(({ fqdn }) => fqdn));
    for (const fqdn of this.#registry.names()) if (!stay.has(fqdn)) this.removeEndpoint(fqdn);
    for (const endpoint of endpoints) this.configureEndpoint(endpoint);
    this.#registry.reorder([...stay]);
  }

  configureEndpoint(endpoint: MonitoredEndpoint): void {
    const { fqdn } = endpoint;
    const isJoining = this.#isRunning && this.#registry.has(fqdn);
    const gone = this.#registry.setEndpoint(endpoint, (view) => this.#newAddress(endpoint, view, isJoining));
    const changed = new Set<ProbeJob>();
    this.#detachAll(gone, changed);
    for (const target of endpoint.targets) {
      for (const address of this.#registry.addresses(fqdn, target.id)) {
        this.#attach(address, endpoint.probe, target, changed);
      }
    }
    this.#settleJobs(changed);
  }

  removeEndpoint(fqdn: string): void {
    this.#publisher.drop(fqdn);
    const changed = new Set<ProbeJob>();
    this.#detachAll(this.#registry.removeEndpoint(fqdn), changed);
    this.#settleJobs(changed);
  }

  start(): void {
    if (this.#isRunning || this.#isStopped) return;
    this.#isRunning = true;
    this.#filter.start();
    this.#scheduler.start();
    this.#checkFirstRound();
  }

  stop(): void {
    this.#isRunning = false;
    this.#isStopped = true;
    this.#filter.stop();
    this.#publisher.stop();
    const keys = [...this.#scheduler.jobs.keys()];
    this.#scheduler.stop();
    for (const key of keys) this.#tripwires?.drop(key);
  }

  overrideChanged(fqdn: string, target: string): void {
    this.#registry.outdate(fqdn, target);
  }

  snapshot(): Snapshot {
    return this.#registry.snapshot();
  }

  clearFlaps(fqdn: string, target: string): boolean {
    const addresses = this.#registry.addresses(fqdn, target);
    for (const address of addresses) {
      address.state = withoutFlaps(address.state);
      this.#updateView(address);
      if (address.job !== undefined) this.#scheduler.hurry(address.job, 0);
    }
    return addresses.length > 0;
  }

  hint(fqdn: string, address: string): void {
    const nowMs = this.#clock.monotonicMs();
    for (const { addresses } of this.#registry.targets(fqdn)) {
      for (const { view, job } of addresses) {
        if (view.address !== address || job === undefined || nowMs - (job.hintedMs ?? -HINT_EVERY_MS) < HINT_EVERY_MS)
          continue;
        job.hintedMs = nowMs;
        this.#scheduler.hurry(job, 0);
      }
    }
  }

  get isolated(): boolean {
    return this.#filter.isolated;
  }

  get tripwires(): number {
    return this.#tripwires?.open ?? 0;
  }

  #newAddress({ fqdn, probe, targets }: MonitoredEndpoint, view: ViewedAddress, isJoining: boolean): MonitoredAddress {
    const recalled = this.#isRunning ? undefined : this.#options.recall?.(fqdn, view.target, view.address);
    const own = targets.find(({ id }) => id === view.target);
    const isDisabled = own?.disabled === true;
    const mustRise = isJoining || own?.unproven?.includes(view.address) === true;
    const address: MonitoredAddress = {
      view,
      config: probe,
      state: recalled ? knownState(recalled.health) : initialState(mustRise),
      dueMs: this.#clock.monotonicMs(),
      isAwaited: recalled === undefined && !isDisabled,
    };
    if (address.isAwaited) this.#awaited += 1;
    view.sinceMs = recalled?.sinceMs ?? this.#clock.wallMs();
    if (recalled?.last !== undefined) view.last = recalled.last;
    this.#updateView(address);
    return address;
  }

  /** Gives an address the probe job of its configuration. @param changed takes the jobs that must be planned anew */
  #attach(address: MonitoredAddress, probe: ProbeConfig, target: MonitoredTarget, changed: Set<ProbeJob>): void {
    // Most targets stay as they are when one of many comes or goes.
    const isSame = address.config === probe && address.elsewhere === target.probe;
    if (isSame && address.job !== undefined && target.disabled !== true) return;
    address.config = probe;
    address.elsewhere = target.probe;
    if (target.disabled === true) {
      this.#detachAll([address], changed);
      address.state = initialState(false);
      delete address.view.last;
      delete address.unpublished;
      this.#updateView(address);
      return;
    }
    if (probe.type === "none") {
      if (address.view.last === NOT_PROBED) return;
      this.#detachAll([address], changed);
      address.state = knownState("up");
      delete address.unpublished;
      this.#recordResult(address, NOT_PROBED);
      return;
    }
    const place = placeOfProbe(address.view.address, probe, target.probe);
    const key = probeKey({ address: place.address, fqdn: address.view.fqdn, target: target.id }, place.config);
    if (address.job?.key !== key) {
      this.#detach(address, changed);
      const { jobs } = this.#scheduler;
      const isProbed = !address.isAwaited && this.#isRunning;
      const job = jobs.get(key) ?? this.#scheduler.add(key, place.address, place.config, isProbed);
      job.addresses.add(address);
      address.job = job;
    }
    if (address.job === undefined) return;
    address.job.config = place.config;
    changed.add(address.job);
  }

  #detach(address: MonitoredAddress, changed: Set<ProbeJob>): void {
    if (address.job === undefined) return;
    address.job.addresses.delete(address);
    changed.add(address.job);
    delete address.job;
  }

  #detachAll(addresses: readonly MonitoredAddress[], changed: Set<ProbeJob>): void {
    for (const address of addresses) {
      this.#detach(address, changed);
      this.#settle(address);
    }
  }

  #settleJobs(changed: ReadonlySet<ProbeJob>): void {
    for (const job of changed) {
      if (job.addresses.size > 0) {
        this.#scheduler.arrange(job);
        continue;
      }
      this.#scheduler.discard(job);
      this.#tripwires?.drop(job.key);
      this.#filter.forget(job);
    }
    this.#checkFirstRound();
  }

  #finish(job: ProbeJob, finished: FinishedProbe): void {
    if (finished.result === undefined) {
      this.#scheduler.arrange(job);
      return;
    }
    const { config, startedMs, endedMs, lagMs } = finished;
    const result = withSharedNames(job, finished.result);
    const addresses = this.#scheduler.jobs.size;
    const ignored = this.#filter.judge(job, { config, result, startedMs, endedMs, addresses });
    const transitions = ignored === undefined ? this.#conclude(job, result, startedMs, endedMs) : [];
    if (ignored !== undefined) this.#putAside(job, result, ignored, endedMs);
    if (result.class === "ok") this.#tendTripwire(job);
    if (job.isTripped && result.class === "ok") this.#scheduler.hurry(job, 0);
    else this.#scheduler.arrange(job);
    job.isTripped = false;
    const targets = [...job.addresses].map(({ view }) => ({ fqdn: view.fqdn, target: view.target }));
    const report = { address: job.address, config, result, lagMs, targets };
    this.#options.onResult?.(ignored === undefined ? report : { ...report, ignored });
    this.#report(transitions);
    this.#checkFirstRound();
  }

  /** Lets every address draw its conclusion. Returns what readers see changed. */
  #conclude(job: ProbeJob, result: ProbeResult, startedMs: number, endedMs: number): readonly Transition[] {
    const fqdns = new Set<string>();
    const suppressed: string[] = [];
    // With one address there is nothing to compare with.
    const connectedMs = this.#scheduler.jobs.size > 1 ? this.#filter.connectedMs : undefined;
    const connected = connectedMs === undefined ? {} : { connectedMs };
    const { class: resultClass, phase } = result;
    const seen = { class: resultClass, ...(phase === undefined ? {} : { phase }), startedMs, endedMs, ...connected };
    for (const address of job.addresses) {
      const { fqdn } = address.view;
      const { state, change, recheckAtMs } = step(address.state, seen, address.config);
      const suppressedBefore = address.state.heldUntilMs;
      address.state = state;
      noteResult(address, resultClass, endedMs);
      if (recheckAtMs !== undefined) address.dueMs = recheckAtMs;
      if (change === undefined && suppressedBefore !== state.heldUntilMs) suppressed.push(fqdn);
      if (change !== undefined) this.#publisher.noteChange(address, { change, result, changedMs: endedMs });
      const isDoubt = resultClass === "not-ready" || isNetworkFailure(seen);
      if (change === undefined && isDoubt && state.health === "up" && state.against === 1) {
        this.#publisher.noteDoubt(address);
      }
      this.#recordResult(address, result);
      fqdns.add(fqdn);
    }
    if (suppressed.length > 0) this.#options.onHold?.(suppressed, this.snapshot());
    return this.#publisher.publish(fqdns, this.#filter.isolated);
  }

  #report(transitions: readonly Transition[]): void {
    if (transitions.length > 0) this.#options.onTransition(transitions, this.snapshot());
  }

  /** Takes a failure that is not held against the address: asks again, or shows it and counts nothing so far. */
  #putAside({ addresses }: ProbeJob, result: ProbeResult, why: Ignored, endedMs: number): void {
    for (const address of addresses) {
      if (why === "stalled") {
        address.dueMs = endedMs;
      } else {
        address.state = withoutDoubt(address.state);
        this.#recordResult(address, result);
      }
    }
  }

  #forgetDoubts(concerns: (address: MonitoredAddress) => boolean): void {
    for (const { addresses } of this.#scheduler.jobs.values()) {
      for (const address of addresses) {
        if (!concerns(address)) continue;
        address.state = withoutDoubt(address.state);
        this.#updateView(address);
      }
    }
  }

  #tendTripwire(job: ProbeJob): void {
    const isWanted = [...job.addresses].some(({ config, state }) => config.tripwire === true && state.health === "up");
    if (isWanted) this.#tripwires?.tend(job.key, job.address, job.config);
  }

  #tripped(key: string): void {
    const job = this.#scheduler.jobs.get(key);
    if (job === undefined || !this.#isRunning) return;
    if (job.running !== undefined) job.isTripped = true;
    else this.#scheduler.hurry(job, TRIP_DELAY_MS);
  }

  /** Shows readers the newest result and what else may be shown. */
  #recordResult(address: MonitoredAddress, result: ProbeResult): void {
    address.view.last = withCertificateNote(address, result);
    this.#updateView(address);
    this.#settle(address);
  }

  #updateView(address: MonitoredAddress): void {
    updateView(address, this.#clock, this.#isRunning);
    this.#registry.touch(address.view);
  }

  #settle(address: MonitoredAddress): void {
    if (address.isAwaited) this.#awaited -= 1;
    address.isAwaited = false;
  }

  #checkFirstRound(): void {
    if (this.#isRunning && this.#awaited === 0) this.#endFirstRound();
  }
}

/** The result with the string for its names that is there already: results are kept, and there are many. */
function withSharedNames(job: ProbeJob, result: ProbeResult): ProbeResult {
  const { certificateNames } = result;
  if (certificateNames === undefined) return result;
  if (certificateNames === job.names) return { ...result, certificateNames: job.names };
  job.names = certificateNames;
  return result;
}
