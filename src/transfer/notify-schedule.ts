/** Milliseconds after a change at which a secondary is asked for its serial, as long as it is behind. */
const CHECKS_AFTER_MS = [300, 1_000, 3_000, 10_000] as const;

/** Milliseconds between two such questions otherwise, and after the last of the above. */
const CHECK_EVERY_MS = 30_000;

/**
 * Longest time for which a secondary may load what it has transferred, milliseconds: it is not notified meanwhile.
 *
 * Most have loaded it within milliseconds. NSD 4.6 loads at most once a second (`xfrd-reload-timeout`), and where it has taken a second
 * change meanwhile, it discards both and asks for the whole zone.
 */
const LOADING_AT_MOST_MS = 1_500;

/** Milliseconds after a transfer at which a secondary is asked whether it answers what it has transferred. */
const LOADED_CHECKS_AFTER_MS = [
  ...[30, 60, 100, 150, 200, 250, 300, 400, 500, 600, 700, 800, 900, 950],
  ...[1_000, 1_050, 1_100, 1_150, 1_200, 1_300, 1_400, LOADING_AT_MOST_MS],
] as const;

/** A secondary that takes this long to load has waited for its next turn, milliseconds. */
const SLOW_LOAD_MS = 700;

/** So many of such loads one behind the other: it loads at intervals. One alone may be a machine that was busy. */
const SLOW_LOADS = 2;

/** Such a secondary is notified this long after it has loaded, milliseconds: then it loads at once what it takes, and waits for no turn. */
const LOAD_INTERVAL_MS = 1_000;

/** For how long it is taken to load at intervals, milliseconds: with such a distance nothing tells that it does not. */
const SLOW_FOR_MS = 600_000;

/** What is to be sent to a secondary now. */
export interface DueMessages {
  /** NOTIFY (RFC 1996). */
  readonly notify: boolean;
  /** A query for its SOA. */
  readonly check: boolean;
}

/**
 * What a query for the SOA has told: the secondary has the present serial, an older one, an older one than it has transferred
 * last, or it is not known.
 */
export type CheckOutcome = "current" | "behind" | "loading" | "unknown";

/**
 * When one secondary of one zone is notified, and when it is asked whether it has followed. Pure: it is told the time, in
 * milliseconds of any clock that does not jump.
 *
 * A NOTIFY that gets lost must not cost what the secondary's own timers cost (BIND: 300 s), so the primary looks after each
 * change, and notifies again while the secondary is behind. One that loads what it has transferred is left alone meanwhile.
 */
export class NotifySchedule {
  private notifyAtMs = Number.POSITIVE_INFINITY;
  private checkAtMs = Number.POSITIVE_INFINITY;
  private lastNotifyMs = Number.NEGATIVE_INFINITY;
  /** The change or the trouble from which the checks are counted. */
  private beganMs = 0;
  /** When the transfer ended that the secondary is not known to answer; infinitely long ago if there is none. */
  private transferredMs = Number.NEGATIVE_INFINITY;
  /** Of one that loads at intervals: when it will load at once what it takes. */
  private turnMs = Number.NEGATIVE_INFINITY;
  /** One behind the other. */
  private slowLoads = 0;
  /** Until when it is taken to load at intervals. */
  private slowUntilMs = Number.NEGATIVE_INFINITY;
  private isCurrent = false;

  /** @param minIntervalMs between two NOTIFYs, at least */
  constructor(private minIntervalMs: number) {}

  /** When something is due; infinite before the first change. */
  get dueMs(): number {
    return Math.min(this.notifyDueMs, this.checkAtMs);
  }

  setMinInterval(minIntervalMs: number): void {
    this.minIntervalMs = minIntervalMs;
  }

  /** The zone has changed, or the secondary is new. */
  changed(nowMs: number): void {
    this.begin(nowMs);
    this.notifySoon(nowMs);
  }

  /** The secondary has transferred the zone. */
  transferred(nowMs: number): void {
    this.transferredMs = nowMs;
    this.checkAtMs = Math.min(this.checkAtMs, this.nextCheckMs(nowMs));
  }

  /** What is due now, which is then taken to be sent. */
  take(nowMs: number): DueMessages {
    const notify = this.notifyDueMs <= nowMs;
    const check = this.checkAtMs <= nowMs;
    if (notify) {
      this.lastNotifyMs = nowMs;
      this.notifyAtMs = Number.POSITIVE_INFINITY;
    }
    if (check) this.checkAtMs = this.nextCheckMs(nowMs);
    return { notify, check };
  }

  /** A check has ended. */
  checked(nowMs: number, outcome: CheckOutcome): void {
    if (outcome === "current" || outcome === "behind") this.loaded(nowMs);
    if (outcome === "current") {
      this.isCurrent = true;
      this.checkAtMs = nowMs + CHECK_EVERY_MS;
      return;
    }
    if (this.isCurrent) this.begin(nowMs);
    this.notifySoon(nowMs);
  }

  private get notifyDueMs(): number {
    return Math.max(this.notifyAtMs, this.transferredMs + LOADING_AT_MOST_MS, this.turnMs);
  }

  /** It answers what it has transferred last. */
  private loaded(nowMs: number): void {
    if (this.transferredMs === Number.NEGATIVE_INFINITY) return;
    this.slowLoads = nowMs - this.transferredMs >= SLOW_LOAD_MS ? this.slowLoads + 1 : 0;
    if (this.slowLoads >= SLOW_LOADS) this.slowUntilMs = nowMs + SLOW_FOR_MS;
    this.turnMs = nowMs < this.slowUntilMs ? nowMs + LOAD_INTERVAL_MS : nowMs;
    this.transferredMs = Number.NEGATIVE_INFINITY;
  }

  private begin(nowMs: number): void {
    this.isCurrent = false;
    this.beganMs = nowMs;
    this.checkAtMs = Math.min(this.checkAtMs, this.nextCheckMs(nowMs));
  }

  private notifySoon(nowMs: number): void {
    this.notifyAtMs = Math.min(this.notifyAtMs, Math.max(nowMs, this.lastNotifyMs + this.minIntervalMs));
  }

  private nextCheckMs(nowMs: number): number {
    const afterChange = CHECKS_AFTER_MS.map((afterMs) => this.beganMs + afterMs).find((atMs) => atMs > nowMs);
    const afterTransfer = LOADED_CHECKS_AFTER_MS.map((afterMs) => this.transferredMs + afterMs);
    const whileLoading = afterTransfer.find((atMs) => atMs > nowMs);
    return Math.min(afterChange ?? nowMs + CHECK_EVERY_MS, whileLoading ?? Number.POSITIVE_INFINITY);
  }
}
