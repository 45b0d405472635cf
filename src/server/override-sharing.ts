import type { OverrideKind } from "../health/health.js";
import type { StampedRecord } from "../health/override-records.js";
import type { OverrideStore } from "../health/overrides.js";
import type { Clock } from "../lib/clock.js";
import { UserError } from "../lib/errors.js";
import type { SharedOverride } from "../siblings/messages.js";
import type { Siblings } from "../siblings/siblings.js";
import type { Reservations } from "./reservations.js";
import { sharedOverride } from "./shared-overrides.js";

interface TargetName {
  readonly endpoint: string;
  readonly target: string;
}

/** What a sibling says of a target that was drained. */
export interface SiblingDrain {
  readonly name: string;
  /** False: it did not reply, so that it may answer the target still. */
  readonly heard: boolean;
  /** Whether it drains the target. */
  readonly drained: boolean;
  /** When the target can be stopped as far as it goes, by our wall clock; absent while it answers it, or is not heard. */
  readonly safeAtMs?: number;
}

export interface OverrideSharingParts {
  readonly clock: Clock;
  readonly siblings: Siblings;
  readonly overrides: Pick<OverrideStore, "shared">;
  readonly reservations: Reservations;
}

/** How an override that is set here comes to hold on the siblings. */
export class OverrideSharing {
  readonly #parts: OverrideSharingParts;

  constructor(parts: OverrideSharingParts) {
    this.#parts = parts;
  }

  /**
   * Asks the siblings before a target is taken out, and keeps its place until {@link settled}.
   *
   * @throws UserError the code of the first refusal; it says whose
   */
  async approve(name: TargetName, kind: OverrideKind): Promise<void> {
    if (kind === "forced-up") return;
    const { siblings, reservations } = this.#parts;
    const ask = { endpoint: name.endpoint, target: name.target, kind };
    reservations.keep(name);
    const { refused } = await siblings.ask(ask);
    const [first] = refused;
    if (first === undefined) return;
    this.abandon(name);
    throw new UserError(`${first.peer} refuses: ${first.message}`, first.code);
  }

  /** What was approved has happened. */
  settled(name: TargetName): void {
    this.#parts.reservations.release(name);
  }

  /** What was approved does not happen. */
  abandon(name: TargetName): void {
    this.#parts.reservations.release(name);
    this.#parts.siblings.release({ ...name, kind: "drained" });
  }

  /** Tells the siblings what holds of a target now, and waits for those that are there to keep it. */
  async tell(name: TargetName): Promise<void> {
    await this.#parts.siblings.spread(this.entries().filter(isOf(name)));
  }

  /** Everything that siblings are told. */
  entries(): readonly SharedOverride[] {
    const { overrides, siblings } = this.#parts;
    return overrides.shared().map((record) => sharedOverride(record, siblings.name));
  }

  /** Passes on what a sibling said and what was news here. */
  passOn(news: readonly StampedRecord[], from: string): void {
    const { siblings } = this.#parts;
    if (news.length === 0) return;
    void siblings.spread(
      news.map((record) => sharedOverride(record, siblings.name)),
      from,
    );
  }

  /** What each sibling says of a drained target. */
  async drains(name: TargetName): Promise<readonly SiblingDrain[]> {
    const { siblings, clock } = this.#parts;
    const replies = await siblings.safe({ endpoint: name.endpoint, target: name.target });
    return replies.map(({ peer, reply }) => ({
      name: peer,
      heard: reply !== undefined,
      // One that does not know the target does not answer it.
      drained: reply?.state === "drained" || reply?.state === "unknown",
      ...(reply?.safeInMs === undefined ? {} : { safeAtMs: clock.wallMs() + reply.safeInMs }),
    }));
  }
}

function isOf(name: TargetName) {
  return ({ endpoint, target }: TargetName): boolean => endpoint === name.endpoint && target === name.target;
}
