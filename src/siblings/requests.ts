import type { Clock } from "../lib/clock.js";
import type { Peer, SiblingHost } from "./host.js";
import type { Hearing } from "./listener.js";
import type { Reply, Spoken } from "./messages.js";

const NOT_KEPT = { code: "NOT_PERSISTED", message: "it could not be written" } as const;

type Refusal = Reply["refusal"];

/** Requests whose replies are remembered: far more than can be under way. */
const MAX_ASKED = 64;

/**
 * What one sibling has asked and given of late, and what was replied: the same on another connection is nothing new. Without
 * this, a question that comes late would keep a place free that nobody needs any more.
 */
export class Asked {
  readonly #replies = new Map<number, Promise<Refusal>>();
  #boot = "";

  /** A connection is from this process of the sibling: another one counts from 1 again. */
  from(boot: string): void {
    if (boot !== this.#boot) this.#replies.clear();
    this.#boot = boot;
  }

  /** @param decide is called once for an `id`, at once */
  once(id: number, decide: () => Refusal | Promise<Refusal>): Promise<Refusal> {
    const known = this.#replies.get(id);
    if (known !== undefined) return known;
    const refusal = Promise.resolve(decide());
    this.#replies.set(id, refusal);
    const [oldest] = this.#replies.keys();
    if (this.#replies.size > MAX_ASKED && oldest !== undefined) this.#replies.delete(oldest);
    return refusal;
  }
}

/** Whose request it is, and who decides on it. */
export interface RequestParts {
  readonly clock: Pick<Clock, "wallMs">;
  readonly host: Pick<SiblingHost, "take" | "judge" | "release" | "safe" | "onKept">;
  readonly peer: Peer;
  readonly asked: Asked;
  /** The connection on which it came, and on which it is replied to. */
  readonly hearing: Hearing;
}

/**
 * Replies to what a sibling asks or gives. Each of these may arrive several times, on several connections, and late: that
 * changes nothing any more.
 *
 * @returns whether the message was one of those
 */
export function hearRequest(parts: RequestParts, message: Spoken): boolean {
  const { clock, host, peer, hearing } = parts;
  switch (message.t) {
    case "overrides":
      reply(parts, message.id, () =>
        host.take(peer.name, message.entries, message.wallMs - clock.wallMs()).then(
          () => kept(parts),
          (error: unknown) => kept(parts, error),
        ),
      );
      return true;
    case "ask": {
      const { t: _, id, ...ask } = message;
      reply(parts, id, () => host.judge(peer.name, ask));
      return true;
    }
    case "release":
      host.release(peer.name, message);
      return true;
    case "safe":
      hearing.reply({ t: "reply", id: message.id, ...host.safe(message) });
      return true;
    case "nudge":
      hearing.reply({ t: "heard", n: message.n });
      return true;
    default:
      return false;
  }
}

function reply({ asked, hearing }: RequestParts, id: number, decide: () => Refusal | Promise<Refusal>): void {
  void asked.once(id, decide).then((refusal) => hearing.reply({ t: "reply", id, ...(refusal && { refusal }) }));
}

/** What became of the sibling's overrides; the host is told when that is not what it was before. */
function kept({ host, peer }: RequestParts, error?: unknown): Refusal {
  const isNotKept = error !== undefined;
  if (isNotKept !== (peer.isNotKept ?? false)) {
    peer.isNotKept = isNotKept;
    host.onKept(peer.name, error);
  }
  return isNotKept ? NOT_KEPT : undefined;
}
