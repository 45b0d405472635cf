import { UserError } from "../lib/errors.js";
import type { History } from "./history-schema.js";
import type { AdminEvent, Change, Drain, PendingSetting, Status, TargetDetail } from "./schemas.js";

/** Codes of the errors by which a request is refused, whoever makes it; with the HTTP status they travel under. */
export const REFUSALS = {
  NO_SUCH_ENDPOINT: 404,
  NO_SUCH_TARGET: 404,
  /** No other target would be left to answer. */
  LAST_ANSWERABLE: 409,
  /** Fewer targets would be up than `minHealthy` asks for. */
  BELOW_MIN_HEALTHY: 409,
  /** The new configuration has problems; the old one stays. */
  RELOAD_REFUSED: 409,
  BAD_DURATION: 400,
  /** The drain would end by itself before its target can be stopped. */
  DRAIN_TOO_SHORT: 409,
  /** The override could not be written to `stateDir`, and so does not hold. */
  NOT_PERSISTED: 503,
  /** Whoever asked had gone before it could be carried out. */
  CLIENT_GONE: 409,
} as const;

/** The configuration has problems: {@link UserError} `RELOAD_REFUSED` that carries them. */
export class ReloadRefusedError extends UserError {
  /** @param problems as printed, one by one */
  constructor(readonly problems: readonly string[]) {
    super("the new configuration has problems, so the old one stays", "RELOAD_REFUSED");
    this.name = "ReloadRefusedError";
  }
}

/** Who asks for something. */
export interface Asker {
  readonly author: string;
  /** Concerns this server alone. Default false. */
  readonly isLocal?: boolean;
  /** Aborted when whoever asked is not there any more: then nothing is carried out. */
  readonly signal?: AbortSignal;
}

/** How an override is asked for. */
export interface OverrideOrder extends Asker {
  readonly reason?: string;
  /** Milliseconds it holds; absent = until it is cleared. */
  readonly forMs?: number;
  /** Do it although too few targets are left. Default false. */
  readonly force?: boolean;
}

/** A target by its endpoint's full name and its own id. */
export interface TargetName {
  readonly endpoint: string;
  readonly target: string;
}

/** An event without the number it gets. */
export type EventContent = AdminEvent extends infer E ? (E extends AdminEvent ? Omit<E, "id" | "atMs"> : never) : never;

/** What the server does for its operators; what is refused throws a {@link UserError} of {@link REFUSALS}. */
export interface AdminService {
  /** Of livezone. */
  readonly version: string;
  /** Whether queries are answered. */
  isReady(): boolean;
  /** What the server thinks now; whether the way in may write is the admin layer's to add. */
  status(): Omit<Status, "writable" | "lastEventId">;
  /** One target with the results of its last probes, at most 100 for each address. */
  target(name: TargetName): TargetDetail | Promise<TargetDetail>;
  /** What happened lately, but the events: these are the admin layer's to add. */
  history(): Omit<History, "events">;
  drain(name: TargetName, order: OverrideOrder): Promise<Drain>;
  /** Ends a drain; does nothing to a target that is not drained. */
  undrain(name: TargetName, by: Asker): Promise<Change>;
  force(name: TargetName, health: "up" | "down", order: OverrideOrder): Promise<Change>;
  /** Ends forced-up or forced-down; does nothing to a target that is not forced. */
  unforce(name: TargetName, by: Asker): Promise<Change>;
  /** Forgives a target its flapping: one that is suppressed returns with its next good probe. */
  unsuppress(name: TargetName, by: Asker): Promise<Change>;
  /**
   * Leaves the port to a successor that listens beside this process, and ends once every query is answered.
   *
   * @param threads the successor's
   * @returns the threads there were
   */
  leave(threads: number): Promise<number>;
  /** Takes the configuration anew. @throws ReloadRefusedError */
  reload(): Promise<{
    readonly zones: number;
    readonly endpoints: number;
    readonly needRestart: readonly PendingSetting[];
  }>;
}
