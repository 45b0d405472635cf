import type { ProbeConfig } from "../config/config.js";
import type { Clock, Timer } from "../lib/clock.js";
import type { ProbeResult, Snapshot, Transition } from "./health.js";
import { probeKey, type RunProbe } from "./probes/probe.js";
import { type AddressState, initialState, knownState, step } from "./state.js";
import { JITTER } from "./timeline.js";
import { createRegistry, type WatchedAddress } from "./watched.js";

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
  /** The picture now. Cheap when nothing changed since the last call. */
  snapshot(): Snapshot;
  /** Resolves once started and every address has a result. */
  readonly firstRound: Promise<void>;
}

/** One thing that is probed, for every target that wants the same. */
interface Check {
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
}

const NOT_PROBED: ProbeResult = { class: "ok", reason: "not probed", durationMs: 0 };

export function createHealthMonitor(options: HealthMonitorOptions): HealthMonitor {
  const { clock, random, runProbe, onTransition, onResult, maxFirstProbes = 256 } = options;
  const registry = createRegistry<Watcher>();
  const checks = new Map<string, Check>();
  /** First probes that wait for a place, oldest first. */
  const queue = new Set<Check>();
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
      const watcher: Watcher = {
        view,
        config: endpoint.probe,
        state: initialState(running && before.has(endpoint.fqdn)),
        dueMs: clock.monotonicMs(),
        awaited: true,
      };
      awaited += 1;
      view.sinceMs = clock.wallMs();
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
    const key = probeKey(watcher.view.address, config);
    if (watcher.check?.key !== key) {
      detach(watcher);
      let check = checks.get(key);
      if (check === undefined) {
        check = { key, address: watcher.view.address, config, watchers: new Set(), dueMs: 0, probed: !watcher.awaited };
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
    const startedMs = clock.monotonicMs();
    const lagMs = startedMs - check.dueMs;
    runProbe({ address: check.address }, config, controller.signal)
      .catch(
        // A probe never rejects; should one all the same, that is livezone's trouble and no evidence.
        () => undefined,
      )
      .then((result) => {
        if (first) firstProbes -= 1;
        if (!stopped && checks.get(check.key) === check) {
          delete check.running;
          finish(check, config, startedMs, lagMs, result);
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
    const transitions: Transition[] = [];
    for (const watcher of check.watchers) {
      const { view } = watcher;
      watcher.dueMs = Math.max(endedMs, startedMs + watcher.config.intervalMs * spread);
      if (result === undefined) continue;
      const { state, change, recheckAtMs } = step(
        watcher.state,
        { class: result.class, startedMs, endedMs },
        watcher.config,
      );
      watcher.state = state;
      if (recheckAtMs !== undefined) watcher.dueMs = recheckAtMs;
      if (change !== undefined) {
        transitions.push({ fqdn: view.fqdn, target: view.target, address: view.address, ...change, result });
      }
      see(watcher, result);
    }
    arrange(check);
    if (result === undefined) return;
    const targets = [...check.watchers].map(({ view }) => ({ fqdn: view.fqdn, target: view.target }));
    onResult?.({ address: check.address, config, result, lagMs, targets });
    if (transitions.length > 0) onTransition(transitions, registry.snapshot());
    checkFirstRound();
  }

  /** Shows the newest result and the conclusion to readers. */
  function see(watcher: Watcher, result: ProbeResult): void {
    const { view, state } = watcher;
    if (view.health !== state.health) view.sinceMs = clock.wallMs();
    view.health = state.health;
    view.last = result;
    registry.touch(view);
    settle(watcher);
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
      for (const [key, check] of checks) discard(key, check);
    },
    snapshot: () => registry.snapshot(),
    firstRound,
  };
}
