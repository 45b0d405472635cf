import type { TableMessage } from "../answers/table-messages.js";
import type { Name } from "../wire/name.js";
import type { ToWorker } from "./worker-messages.js";

/** Where whole zones come from. */
export interface ZoneSource {
  names(): Iterable<Name>;
  /** A zone as it stands; `undefined` if there is no such zone. */
  whole(zone: Name): TableMessage | undefined;
}

/**
 * Words in one message of whole zones, and zones: about a millisecond of a thread's time, after which it answers. The
 * next one is compiled and sent when the thread has taken it, since a thread takes all messages that wait in one go.
 */
const WORDS_AT_ONCE = 1 << 15;
const ZONES_AT_ONCE = 32;

/**
 * Brings zones and their changes to one thread. Whole zones go a few at a time, and each is compiled when its turn
 * comes; so a change of a zone that still waits needs no message of its own, and a change of any other one is sent at once.
 */
export class ZoneFeed {
  private readonly waiting = new Set<Name>();
  /** Zones to be removed once the thread has all that come in their place. */
  private readonly leaving = new Set<Name>();
  /** What the thread gets once it has all zones. */
  private behind: ToWorker[] = [];
  private isTaking = false;

  /** @param post sends a message to the thread */
  constructor(
    private readonly post: (message: ToWorker) => void,
    private readonly source: Pick<ZoneSource, "whole">,
  ) {}

  /** Sends these zones whole. */
  load(zones: Iterable<Name>): void {
    for (const zone of zones) {
      this.waiting.add(zone);
      this.leaving.delete(zone);
    }
    this.sendNext();
  }

  /** Sends a change. */
  change(message: TableMessage): void {
    if (message.kind === "zone-removed") {
      this.waiting.delete(message.zone);
      this.leaving.add(message.zone);
      this.sendNext();
    } else if (!this.waiting.has(message.zone)) {
      this.post({ kind: "table", message });
    }
  }

  /** Sends a message behind every zone that waits now. */
  postBehind(message: ToWorker): void {
    if (this.isTaking || this.waiting.size > 0) this.behind.push(message);
    else this.post(message);
  }

  /** The thread has taken the last whole zones that were sent. */
  taken(): void {
    this.isTaking = false;
    this.sendNext();
  }

  /** Another thread has taken the place of this one: it has no zone, and nothing waits. */
  restart(): void {
    this.waiting.clear();
    this.leaving.clear();
    this.behind = [];
    this.isTaking = false;
  }

  private sendNext(): void {
    if (this.isTaking) return;
    const messages: TableMessage[] = [];
    let words = 0;
    for (const zone of this.waiting) {
      if (messages.length === ZONES_AT_ONCE || words > WORDS_AT_ONCE) break;
      this.waiting.delete(zone);
      const message = this.source.whole(zone);
      if (message?.kind !== "zone") continue;
      words += message.words.length;
      messages.push(message);
    }
    if (messages.length > 0) {
      this.isTaking = true;
      this.post({ kind: "zones", messages });
      return;
    }
    for (const zone of this.leaving) this.post({ kind: "table", message: { kind: "zone-removed", zone } });
    this.leaving.clear();
    for (const message of this.behind.splice(0)) this.post(message);
  }
}
