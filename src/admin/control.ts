import type { AdminEvent, Change, Drain, OverrideView, Status, TargetDetail } from "./schemas.js";

/** Why a request is refused, whoever makes it; with the HTTP status it travels under. */
export const REFUSALS = {
  NO_SUCH_ENDPOINT: 404,
  NO_SUCH_TARGET: 404,
  /** No other target would be left to answer. */
  LAST_ANSWERABLE: 409,
  /** Fewer targets would be up than `minHealthy` asks for. */
  BELOW_MIN_HEALTHY: 409,
  /** The new configuration has problems; the old one stays. */
  RELOAD_REFUSED: 409,
  /** The override holds, but could not be written to `stateDir`. */
  NOT_PERSISTED: 503,
} as const;

export type RefusalCode = keyof typeof REFUSALS;

/** A request that was understood and is not granted. */
export class Refusal extends Error {
  /** @param problems what is wrong with a configuration, printed one by one */
  constructor(
    readonly code: RefusalCode,
    message: string,
    readonly problems?: readonly string[],
  ) {
    super(message);
    this.name = "Refusal";
  }
}

/** How an override is asked for. */
export interface OverrideOrder {
  readonly reason?: string;
  readonly author: string;
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

/** Everything the admin layer asks of the server and tells it; all methods of a target throw {@link Refusal}. */
export interface Control {
  /** What the server thinks now; whether the way in may write is the admin layer's to add. */
  status(): Omit<Status, "writable" | "lastEventId">;
  /** One target with the results of its last probes, at most 100 for each address. */
  target(name: TargetName): TargetDetail;
  drain(name: TargetName, order: OverrideOrder): Drain;
  /** Ends a drain; does nothing to a target that is not drained. */
  undrain(name: TargetName, author: string): Change;
  force(name: TargetName, health: "up" | "down", order: OverrideOrder): Change;
  /** Ends forced-up or forced-down; does nothing to a target that is not forced. */
  unforce(name: TargetName, author: string): Change;
  /** Takes the configuration anew. @throws Refusal when it has problems */
  reload(): Promise<{ readonly zones: number; readonly endpoints: number }>;
}

/** Where overrides are kept: what {@link Control} changes. */
export interface OverrideStore {
  get(endpoint: string, target: string): OverrideView | undefined;
  /** Takes effect in answers before it returns. @param override undefined = clear */
  set(endpoint: string, target: string, override: OverrideView | undefined): void;
}
