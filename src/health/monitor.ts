import type { ProbeConfig } from "../config/config.js";
import type { Clock, Timer } from "../lib/clock.js";
import type { Override, ProbeResult, Snapshot, Transition } from "./health.js";
import { probeKey, type RunProbe } from "./probes/probe.js";
import { coversName } from "./probes/tls.js";
import { createRegistry, type WatchedAddress } from "./registry.js";
import { createDoubts, type Doubted, type Ignored } from "./result-filter.js";
import {
  type AddressState,
  initialState,
  knownState,
  type StateSettings,
  step,
  withoutDoubt,
  withoutFlaps,
} from "./state.js";
import { JITTER } from "./timeline.js";
import { createTripwires, type OpenTripwire } from "./tripwires.js";

/** One endpoint to watch. */
export interface MonitoredEndpoint {
  /** The identity of the endpoint. */
  readonly fqdn: string;
  /** In configuration order; ids and addresses unique in the endpoint. */
  readonly targets: readonly { readonly id: string; readonly addresses: readonly string[] }[];
  readonly probe: ProbeConfig;
}

/** One finished probe, for counters and logs. */
export interface ProbeReport {
  readonly address: string;
  readonly config: ProbeConfig;
  readonly result: ProbeResult;
  /** Milliseconds by which the probe started after its due moment. */
  readonly lagMs: number;
  /** The targets that share it. At least one. */
  readonly targets: readonly { readonly fqdn: string; readonly target: string }[];
  /** Present for a failure that is not held against the address. */
  readonly ignored?: Ignored;
}

/** What was known of an address before this process started. */
export interface Remembered {
  readonly health: "up" | "down";
  /** See {@link AddressHealth.sinceMs}. */
  readonly sinceMs: number;
  readonly last?: ProbeResult;
}

export interface HealthMonitorOptions {
  readonly clock: Clock;
  /** 0 (included) to 1 (not included), as `Math.random`; spreads the probes. */
  readonly random: () => number;
  readonly runProbe: RunProbe;
  /** What one result changed, all at once, with the picture after it. Called after {@link onResult}. */
  onTransition(transitions: readonly Transition[], snapshot: Snapshot): void;
  /** Every result, once for each probe made. */
  onResult?(report: ProbeReport): void;
  /**
   * First probes under way at the same moment, so that their handshakes do not hold each other up past the
   * timeout. Default 256; later probes are not limited, or those that hang would delay those that do not.
   */
  readonly maxFirstProbes?: number;
  /** Opens tripwires for the addresses whose configuration wants one. Absent = none are. */
  readonly openTripwire?: OpenTripwire;
  /**
   * Health that serves from the start, until probes say otherwise; asked once for each address of {@link
   * HealthMonitor.configure} before the start. Absent or undefined = unknown.
   */
  recall?(fqdn: string, target: string, address: string): Remembered | undefined;
  /** The override of a target that is in force, for the snapshot. Absent = there are none. */
  overrideOf?(fqdn: string, target: string): Override | undefined;
  /** Nothing gets through to any address any more, or something does again. Called before {@link onTransition}. */
  onIsolation?(isolated: boolean): void;
  /** An address of these endpoints, which flaps, is held down although it passes, or not any more: no transition. */
  onHold?(fqdns: readonly string[], snapshot: Snapshot): void;
  /** This process did not run for so long, milliseconds. */
  onStall?(lengthMs: number): void;
}

/** Probes addresses, draws conclusions, and keeps the picture that others read. */
export interface HealthMonitor {
  /**
   * What to watch from now on. An address that stays (same endpoint, target id and address) keeps its health; the
   * probe of one that goes stops at once; new settings hold from the next probe. Once started, an address that
   * joins an endpoint that was there before is `unknown` until `rise` successes. Takes a new {@link snapshot} to
   * be seen; reports no transition.
   */
  configure(endpoints: readonly MonitoredEndpoint[]): void;
  /** Begins probing; every address at once, up to `maxFirstProbes`. */
  start(): void;
  /** Ends every probe under way and begins no other. Final. */
  stop(): void;
  /**
   * The override of a target was set or has ended: the {@link snapshot} shows it from now on. Probing and health go on
   * untouched; reports no transition.
   */
  overrideChanged(fqdn: string, target: string): void;
  /** The picture now. Cheap when nothing changed since the last call. */
  snapshot(): Snapshot;
  /**
   * Forgives a target its flapping: an address that is held returns with its next pass, which is made at once.
   *
   * @returns whether there is such a target
   */
  clearFlaps(fqdn: string, target: string): boolean;
  /** Whether the prober is presumed cut off; health stays as it was meanwhile. */
  readonly isolated: boolean;
  /** Tripwires that are open or being opened. */
  readonly tripwires: number;
  /** Resolves once started and every address has a result, or is remembered. */
  readonly firstRound: Promise<void>;
}

/** One thing that is probed, for every target that wants the same. */
interface Check extends Doubted {
  readonly key: string;
  readonly address: string;
  /** That of a watcher; all agree on everything but the schedule. */
  config: ProbeConfig;
  readonly watchers: Set<Watcher>;
  /** When the next probe should start; meaningless while one runs. */
  dueMs: number;
  timer?: Timer;
  running?: AbortController;
  /** False until its first result: first probes wait for a place, and the second is placed at random. */
  probed: boolean;
  /** Its tripwire went while a probe was under way, which may have looked too early. */
  tripped: boolean;
  /** The alternative names of the certificate that was presented last; one string for all results with the same. */
  names?: string;
}

/** One address of one target, and what its endpoint makes of the results. */
interface Watcher {
  readonly view: WatchedAddress;
  config: ProbeConfig;
  state: AddressState;
  dueMs: number;
  /** Absent for what is never probed. */
  check?: Check;
  awaited: boolean;
  /** Whether the certificate with these names is good for the endpoint's own name. */
  names?: { readonly text: string; readonly cover: boolean };
}

/**
 * Pause between a tripwire's end and the probe, milliseconds: a process that dies closes its connections and its
 * listener one after the other, and a connection made in between would be reset, which is weaker evidence.
 */
const TRIP_DELAY_MS = 20;

const NOT_PROBED: ProbeResult = { class: "ok", reason: "not probed", durationMs: 0 };

/** The result with the string for its names that is there already: results are kept, and there are many. */
function withSharedNames(check: Check, result: ProbeResult): ProbeResult {
  const { certificateNames } = result;
  if (certificateNames === undefined) return result;
  if (certificateNames === check.names) return { ...result, certificateNames: check.names };
  check.names = certificateNames;
  return result;
}

/** The result, with a note if the certificate was fit for the probe but is not for the endpoint's own name. */
function withNote(watcher: Watcher, result: ProbeResult): ProbeResult {
  const { certificateNames: text } = result;
  const { fqdn } = watcher.view;
  const { config } = watcher;
  if (text === undefined || config.type !== "https" || config.serverName === fqdn) return result;
  if (watcher.names?.text !== text) watcher.names = { text, cover: coversName(text, fqdn) };
  if (watcher.names.cover) return result;
  return { ...result, reason: `${result.reason}; the certificate is not for ${fqdn}`.slice(0, 200) };
}

export function createHealthMonitor(options: HealthMonitorOptions): HealthMonitor {
  const { clock, random, runProbe, onTransition, onResult, maxFirstProbes = 256 } = options;
  const registry = createRegistry<Watcher>(options.overrideOf ?? (() => undefined));
  const checks = new Map<string, Check>();
  /** First probes that wait for a place, oldest first. */
  const queue = new Set<Check>();
  const doubts = createDoubts({
    clock,
    onStall(lengthMs) {
      // What was seen before a pause longer than the interval is too old to be added to what comes.
      forgetDoubts(({ config }) => config.intervalMs < lengthMs);
      options.onStall?.(lengthMs);
    },
    onIsolation(isolated) {
      forgetDoubts(() => true);
      options.onIsolation?.(isolated);
    },
  });
  const tripwires = options.openTripwire && createTripwires(clock, options.openTripwire, tripped);
  let firstProbes = 0;
  let awaited = 0;
  let running = false;
  let stopped = false;
  let firstRoundDone: () => void = () => {};
  const firstRound = new Promise<void>((resolve) => {
    firstRoundDone = resolve;
  });

  function configure(endpoints: readonly MonitoredEndpoint[]): void {
    const before = registry.endpointNames();
    const gone = registry.replace(endpoints, (endpoint, view) => {
      const recalled = running ? undefined : options.recall?.(view.fqdn, view.target, view.address);
      const watcher: Watcher = {
        view,
        config: endpoint.probe,
        state: recalled ? knownState(recalled.health) : initialState(running && before.has(endpoint.fqdn)),
        dueMs: clock.monotonicMs(),
        awaited: recalled === undefined,
      };
      if (watcher.awaited) awaited += 1;
      view.sinceMs = recalled?.sinceMs ?? clock.wallMs();
      if (recalled?.last !== undefined) view.last = recalled.last;
      show(watcher);
      return watcher;
    });
    for (const watcher of gone) {
      detach(watcher);
      settle(watcher);
    }
    for (const { endpoint, watcher } of registry.entries(endpoints)) attach(watcher, endpoint.probe);
    for (const [key, check] of checks) {
      if (check.watchers.size === 0) discard(key, check);
      else arrange(check);
    }
    checkFirstRound();
  }

  function attach(watcher: Watcher, config: ProbeConfig): void {
    watcher.config = config;
    if (config.type === "none") {
      if (watcher.view.last === NOT_PROBED) return;
      detach(watcher);
      watcher.state = knownState("up");
      see(watcher, NOT_PROBED);
      return;
    }
    const { fqdn, target, address } = watcher.view;
    const key = probeKey({ address, fqdn, target }, config);
    if (watcher.check?.key !== key) {
      detach(watcher);
      let check = checks.get(key);
      if (check === undefined) {
        const probed = !watcher.awaited && running;
        check = { key, address, config, watchers: new Set(), dueMs: 0, probed, cutOff: false, tripped: false };
        checks.set(key, check);
      }
      check.watchers.add(watcher);
      watcher.check = check;
    }
    if (watcher.check !== undefined) watcher.check.config = config;
  }

  function detach(watcher: Watcher): void {
    watcher.check?.watchers.delete(watcher);
    delete watcher.check;
  }

  function discard(key: string, check: Check): void {
    checks.delete(key);
    queue.delete(check);
    check.timer?.cancel();
    check.running?.abort();
    tripwires?.drop(key);
    doubts.forget(check);
  }

  /** Plans the next probe of `check` for the watcher that is most in a hurry. */
  function arrange(check: Check): void {
    if (!running || check.running !== undefined) return;
    check.timer?.cancel();
    check.dueMs = Number.POSITIVE_INFINITY;
    for (const watcher of check.watchers) check.dueMs = Math.min(check.dueMs, watcher.dueMs);
    const delayMs = check.dueMs - clock.monotonicMs();
    if (delayMs <= 0) begin(check);
    else check.timer = clock.after(delayMs, () => arrange(check));
  }

  /** Plans the next probe for `delayMs` from now, if it was to come later. */
  function hurry(check: Check, delayMs: number): void {
    const dueMs = clock.monotonicMs() + delayMs;
    for (const watcher of check.watchers) watcher.dueMs = Math.min(watcher.dueMs, dueMs);
    arrange(check);
  }

  function begin(check: Check): void {
    if (!check.probed && firstProbes >= maxFirstProbes) {
      queue.add(check);
      return;
    }
    const first = !check.probed;
    if (first) firstProbes += 1;
    queue.delete(check);
    const controller = new AbortController();
    check.running = controller;
    const { config } = check;
    const [watcher] = check.watchers;
    const { fqdn = "", target = "" } = watcher?.view ?? {};
    const startedMs = clock.monotonicMs();
    const lagMs = startedMs - check.dueMs;
    runProbe({ address: check.address, fqdn, target }, config, controller.signal)
      .catch(
        // A probe never rejects; should one all the same, that is livezone's trouble and no evidence.
        () => undefined,
      )
      .then((result) => {
        if (first) firstProbes -= 1;
        if (!stopped && checks.get(check.key) === check) {
          delete check.running;
          finish(check, config, startedMs, lagMs, result && withSharedNames(check, result));
        }
        const next = queue.values().next();
        if (!stopped && next.value !== undefined && firstProbes < maxFirstProbes) begin(next.value);
      });
  }

  function finish(check: Check, config: ProbeConfig, startedMs: number, lagMs: number, result?: ProbeResult): void {
    const endedMs = clock.monotonicMs();
    // The second probe comes anywhere in the interval, so that what started together does not stay together.
    const spread = check.probed ? 1 - JITTER + 2 * JITTER * random() : random();
    check.probed = true;
    for (const watcher of check.watchers) {
      watcher.dueMs = Math.max(endedMs, startedMs + watcher.config.intervalMs * spread);
    }
    if (result === undefined) {
      arrange(check);
      return;
    }
    const ignored = doubts.judge(check, { config, result, startedMs, endedMs, addresses: checks.size });
    const transitions = ignored === undefined ? conclude(check, result, startedMs, endedMs) : [];
    if (ignored !== undefined) putAside(check, result, ignored, endedMs);
    if (result.class === "ok") tendTripwire(check);
    if (check.tripped && result.class === "ok") hurry(check, 0);
    else arrange(check);
    check.tripped = false;
    const targets = [...check.watchers].map(({ view }) => ({ fqdn: view.fqdn, target: view.target }));
    const report = { address: check.address, config, result, lagMs, targets };
    onResult?.(ignored === undefined ? report : { ...report, ignored });
    if (transitions.length > 0) onTransition(transitions, registry.snapshot());
    checkFirstRound();
  }

  /** Lets every watcher draw its conclusion. */
  function conclude(check: Check, result: ProbeResult, startedMs: number, endedMs: number): readonly Transition[] {
    const transitions: Transition[] = [];
    const holds: string[] = [];
    // With one address there is nothing to compare with.
    const connected = checks.size > 1 ? { connectedMs: doubts.connectedMs } : {};
    const seen = { class: result.class, startedMs, endedMs, ...connected };
    for (const watcher of check.watchers) {
      const { view } = watcher;
      const { state, change, recheckAtMs } = step(watcher.state, seen, watcher.config);
      const heldBefore = watcher.state.heldUntilMs;
      watcher.state = state;
      if (recheckAtMs !== undefined) watcher.dueMs = recheckAtMs;
      if (change === undefined && heldBefore !== state.heldUntilMs) holds.push(view.fqdn);
      if (change !== undefined) {
        transitions.push({ fqdn: view.fqdn, target: view.target, address: view.address, ...change, result });
      }
      see(watcher, result);
    }
    if (holds.length > 0) options.onHold?.(holds, registry.snapshot());
    return transitions;
  }

  /** Takes a failure that is not held against the address: asks again, or shows it and counts nothing so far. */
  function putAside({ watchers }: Check, result: ProbeResult, why: Ignored, endedMs: number): void {
    for (const watcher of watchers) {
      if (why === "stalled") {
        watcher.dueMs = endedMs;
      } else {
        watcher.state = withoutDoubt(watcher.state);
        see(watcher, result);
      }
    }
  }

  function forgetDoubts(concerns: (watcher: Watcher) => boolean): void {
    for (const { watchers } of checks.values()) {
      for (const watcher of watchers) {
        if (!concerns(watcher)) continue;
        watcher.state = withoutDoubt(watcher.state);
        show(watcher);
      }
    }
  }

  function tendTripwire(check: Check): void {
    for (const { config, state } of check.watchers) {
      if (config.tripwire !== true || state.health !== "up") continue;
      tripwires?.tend(check.key, check.address, check.config);
      return;
    }
  }

  function tripped(key: string): void {
    const check = checks.get(key);
    if (check === undefined || !running) return;
    if (check.running !== undefined) check.tripped = true;
    else hurry(check, TRIP_DELAY_MS);
  }

  /** Shows the newest result and the conclusion to readers. */
  function see(watcher: Watcher, result: ProbeResult): void {
    watcher.view.last = withNote(watcher, result);
    show(watcher);
    settle(watcher);
  }

  function show({ view, state, config }: Watcher): void {
    // Before the start there is only what is remembered, with its own moment.
    if (view.health !== state.health && running) view.sinceMs = clock.wallMs();
    view.health = state.health;
    delete view.held;
    delete view.isJoining;
    if (state.heldUntilMs !== undefined) view.held = heldOf(state, state.heldUntilMs, config);
    if (state.mustEarn) view.isJoining = true;
    registry.touch(view);
  }

  function heldOf({ flap }: AddressState, heldUntilMs: number, settings: StateSettings) {
    const fromMs = clock.monotonicMs() - (settings.flap?.windowMs ?? 0);
    return {
      untilMs: clock.wallMs() + Math.max(0, heldUntilMs - clock.monotonicMs()),
      changes: flap.changesMs.filter((ms) => ms > fromMs).length,
    };
  }

  function settle(watcher: Watcher): void {
    if (watcher.awaited) awaited -= 1;
    watcher.awaited = false;
  }

  function checkFirstRound(): void {
    if (running && awaited === 0) firstRoundDone();
  }

  return {
    configure,
    start() {
      if (running || stopped) return;
      running = true;
      doubts.start();
      const nowMs = clock.monotonicMs();
      for (const check of checks.values()) {
        for (const watcher of check.watchers) watcher.dueMs = nowMs;
        arrange(check);
      }
      checkFirstRound();
    },
    stop() {
      running = false;
      stopped = true;
      doubts.stop();
      for (const [key, check] of checks) discard(key, check);
    },
    overrideChanged: registry.overrideChanged,
    clearFlaps(fqdn, target) {
      const watchers = registry.watchers(fqdn, target);
      for (const watcher of watchers) {
        watcher.state = withoutFlaps(watcher.state);
        show(watcher);
        if (watcher.check !== undefined) hurry(watcher.check, 0);
      }
      return watchers.length > 0;
    },
    get isolated() {
      return doubts.isolated;
    },
    get tripwires() {
      return tripwires?.open ?? 0;
    },
    snapshot: () => registry.snapshot(),
    firstRound,
  };
}
