import type { PendingSetting } from "../admin/schemas.js";
import type { Config } from "../config/config.js";
import type { SourceFailure, SourceNotice } from "../discovery/source.js";
import type { Answerable } from "../health/answerable.js";
import type { CertificateWarning } from "../health/certificates.js";
import type { Transition } from "../health/health.js";
import type { ProbeReport } from "../health/health-monitor.js";
import type { OverrideChange } from "../health/override-records.js";
import type { ProbeCredentialEnd, ProbeFileTrouble } from "../health/probes/files.js";
import type { StateAlarm } from "../health/state-file.js";
import type { Clock } from "../lib/clock.js";
import { messageOf, type Problem } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { PeerCondition } from "../siblings/peer-state.js";
import type { SecondaryState } from "../transfer/notifier.js";
import type { FinishedTransfer } from "../transfer/service.js";
import type { Name } from "../wire/name.js";
import type { LiveZone, ZoneChange } from "../zone/live-zone.js";
import type { ServedEndpoint } from "./endpoints.js";

/** An address begins or ceases to be kept down because it flaps. */
export interface SuppressionChange {
  /** The endpoint's fqdn. */
  readonly fqdn: string;
  readonly target: string;
  readonly address: string;
  readonly isSuppressed: boolean;
  /** Wall clock, milliseconds since 1970, when it returns if it passes until then; absent at the end. */
  readonly untilMs?: number;
  /** Changes of health in the window; absent at the end. */
  readonly changes?: number;
}

/**
 * Everything that happens in a running server. Who makes an event knows none of its subscribers.
 *
 * The events that a change causes come in this order: first what it did to the answers (`zone-changed`,
 * `answers-changed`), then the change itself.
 */
export type ServerEvent =
  /** RRsets or names of a zone changed, and with them its serial. */
  | { readonly type: "zone-changed"; readonly change: ZoneChange }
  /** A zone is served from now on. It goes on to change. */
  | { readonly type: "zone-added"; readonly zone: LiveZone }
  /** A zone is not served any more. */
  | { readonly type: "zone-removed"; readonly zone: Name }
  /** The zones of a configuration are in force, at the start or by a reload; what that changed was told before. */
  | { readonly type: "zones-replaced"; readonly config: Config }
  /** An endpoint answers other addresses than before, or on other grounds. */
  | { readonly type: "answers-changed"; readonly endpoint: ServedEndpoint; readonly before: Answerable }
  /** An address's health changed. `endpoint` is absent if it is not served any more. */
  | { readonly type: "health-changed"; readonly transition: Transition; readonly endpoint?: ServedEndpoint }
  /** A probe finished, whatever came of it. */
  | { readonly type: "probe-finished"; readonly report: ProbeReport }
  /** An override was set, cleared or has expired. `endpoint` is absent if it is not configured now. */
  | { readonly type: "override-changed"; readonly change: OverrideChange; readonly endpoint?: ServedEndpoint }
  | { readonly type: "suppression-changed"; readonly change: SuppressionChange; readonly endpoint?: ServedEndpoint }
  /** The prober is presumed cut off from every target, or is so no more. */
  | { readonly type: "isolation-changed"; readonly isolated: boolean }
  /** What a sibling says counts from now on, or not any more. */
  | {
      readonly type: "sibling-changed";
      /** Its name. */
      readonly sibling: string;
      readonly condition: PeerCondition;
      readonly before: PeerCondition;
    }
  /** Overrides that a sibling told of could not be saved, and so do not hold here. */
  | { readonly type: "sibling-overrides-not-kept"; readonly sibling: string; readonly error: unknown }
  /** They can be saved again. */
  | { readonly type: "sibling-overrides-kept"; readonly sibling: string }
  /** Every certificate that was presented is not valid yet, so that this machine's clock is suspect; or that is over. */
  | { readonly type: "clock-suspected"; readonly isSuspected: boolean }
  /** The process did not run for so many milliseconds. */
  | { readonly type: "stalled"; readonly lengthMs: number }
  | {
      readonly type: "certificate-warning";
      readonly warning: CertificateWarning;
      readonly endpoint: ServedEndpoint;
    }
  /** Targets of an endpoint were discovered, got other addresses, or were forgotten. */
  | {
      readonly type: "targets-changed";
      /** The endpoint's fqdn. */
      readonly fqdn: string;
      /** New ones, and those with other addresses than before. */
      readonly joined: readonly {
        readonly id: string;
        readonly addresses: readonly string[];
        readonly origins: readonly string[];
      }[];
      readonly left: readonly string[];
    }
  /** A source of targets cannot be read; what it said before holds. */
  | {
      readonly type: "source-failed";
      readonly fqdn: string;
      readonly source: string;
      readonly failure: SourceFailure;
    }
  | { readonly type: "source-recovered"; readonly fqdn: string; readonly source: string }
  /** Something odd about what sources propose: told once. */
  | { readonly type: "source-noticed"; readonly fqdn: string; readonly notice: SourceNotice }
  /** A transfer of a zone to a secondary has ended. */
  | { readonly type: "transfer-finished"; readonly transfer: FinishedTransfer }
  /** A secondary does not answer as this server does, for seconds already; or it does again. */
  | { readonly type: "secondary-trouble"; readonly state: SecondaryState; readonly isInTrouble: boolean }
  /** A new configuration is in force. */
  | {
      readonly type: "reloaded";
      readonly config: Config;
      readonly warnings: readonly Problem[];
      /** Where DNS is served. */
      readonly listen: readonly string[];
      /** How many endpoints there are. */
      readonly endpoints: number;
      /** What holds only from the next start. */
      readonly needRestart: readonly PendingSetting[];
    }
  /** A new configuration could not be taken; the one before stays. */
  | { readonly type: "reload-refused"; readonly error: unknown; readonly problems: readonly Problem[] }
  /** Queries are answered from now on. `isComplete`: every target has a result. */
  | { readonly type: "ready"; readonly isComplete: boolean; readonly endpoints: readonly ServedEndpoint[] }
  /** A file that probes need cannot be used any more; what it held before serves. */
  | { readonly type: "probe-file-trouble"; readonly trouble: ProbeFileTrouble }
  /** A token or client certificate of probes ends soon, or has ended. */
  | { readonly type: "probe-credential-end"; readonly end: ProbeCredentialEnd }
  /** A file of the state folder could not be used. */
  | { readonly type: "state-alarm"; readonly alarm: StateAlarm }
  /** A file of the state folder could not be written. */
  | { readonly type: "state-not-saved"; readonly error: unknown };

export type ServerEventType = ServerEvent["type"];

/** The event of one type. */
export type EventOf<T extends ServerEventType> = Extract<ServerEvent, { readonly type: T }>;

/**
 * What a subscriber does with the events that concern it.
 *
 * `atMs`: when the event was published, wall clock, milliseconds since 1970.
 */
export type Subscriber = {
  readonly [T in ServerEventType]?: (event: EventOf<T>, atMs: number) => void;
};

/** The one stream of what happens in a server. */
export class ServerEvents {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #subscribers = new Map<string, Subscriber>();
  /** Events that wait for the one that is being delivered, oldest first. */
  readonly #waiting: { readonly event: ServerEvent; readonly atMs: number }[] = [];
  #isDelivering = false;

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * Delivers every event from now on, in the order in which subscribers were added.
   *
   * @param name names the subscriber in the log; each is used once
   * @returns ends the subscription
   */
  subscribe(name: string, subscriber: Subscriber): () => void {
    if (this.#subscribers.has(name)) throw new Error(`there is a subscriber ${name} already`);
    this.#subscribers.set(name, subscriber);
    return () => this.#subscribers.delete(name);
  }

  /**
   * Delivers an event to every subscriber before it returns. One that is published by a subscriber waits until the present
   * one has reached everybody, so that all see the same order. A subscriber that throws is logged and harms nobody.
   */
  publish(event: ServerEvent): void {
    this.#waiting.push({ event, atMs: this.#clock.wallMs() });
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      for (const [name, subscriber] of this.#subscribers) this.#deliver(name, subscriber, next.event, next.atMs);
    }
    this.#isDelivering = false;
  }

  #deliver(name: string, subscriber: Subscriber, event: ServerEvent, atMs: number): void {
    // The type of the handler follows from the key, which the compiler cannot see here.
    const handle = subscriber[event.type] as ((event: ServerEvent, atMs: number) => void) | undefined;
    try {
      handle?.(event, atMs);
    } catch (error) {
      this.#log.error({ subscriber: name, event: event.type, error: messageOf(error) }, "event subscriber failed");
    }
  }
}
