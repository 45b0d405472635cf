/** Milliseconds after a change at which a secondary is asked for its serial, as long as it is behind. */
const CHECKS_AFTER_MS = [300, 1_000, 3_000, 10_000] as const;

/** Milliseconds between two such questions otherwise, and after the last of the above. */
const CHECK_EVERY_MS = 30_000;

/** What is to be sent to a secondary now. */
export interface DueMessages {
  /** NOTIFY (RFC 1996). */
  readonly notify: boolean;
  /** A query for its SOA. */
  readonly check: boolean;
}

/** What a query for the SOA has told: the secondary has the present serial, an older one, or it is not known. */
export type CheckOutcome = "current" | "behind" | "unknown";

/**
 * When one secondary of one zone is notified, and when it is asked whether it has followed. Pure: it is told the time, in
 * milliseconds of any clock that does not jump.
 *
 * A NOTIFY that gets lost must not cost what the secondary's own timers cost (BIND: 300 s), so the primary looks after each
 * change, and notifies again while the secondary is behind.
 */
export class NotifySchedule {
  private notifyAtMs = Number.POSITIVE_INFINITY;
  private checkAtMs = Number.POSITIVE_INFINITY;
  private lastNotifyMs = Number.NEGATIVE_INFINITY;
  /** The change or the trouble from which the checks are counted. */
  private beganMs = 0;
  private isCurrent = false;

  /** @param minIntervalMs between two NOTIFYs, at least */
  constructor(private minIntervalMs: number) {}

  /** When something is due; infinite before the first change. */
  get dueMs(): number {
    return Math.min(this.notifyAtMs, this.checkAtMs);
  }

  setMinInterval(minIntervalMs: number): void {
    this.minIntervalMs = minIntervalMs;
  }

  /** The zone has changed, or the secondary is new. */
  changed(nowMs: number): void {
    this.begin(nowMs);
    this.notifySoon(nowMs);
  }

  /** What is due now, which is then taken to be sent. */
  take(nowMs: number): DueMessages {
    const notify = this.notifyAtMs <= nowMs;
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
    if (outcome === "current") {
      this.isCurrent = true;
      this.checkAtMs = nowMs + CHECK_EVERY_MS;
      return;
    }
    if (this.isCurrent) this.begin(nowMs);
    this.notifySoon(nowMs);
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
    const next = CHECKS_AFTER_MS.map((afterMs) => this.beganMs + afterMs).find((atMs) => atMs > nowMs);
    return next ?? nowMs + CHECK_EVERY_MS;
  }
}
