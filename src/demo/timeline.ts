/**
 * What happened in the demo, as a value: what was done to which target, and when the answer of the name, as asked
 * by real queries, began to show it.
 */

/** What can be done to a stand-in apiserver. */
export type DemoDeed = "crash" | "hang" | "unready" | "revive";

/** One thing that happened. */
export interface DemoEvent {
  /** Wall clock, milliseconds since 1970. */
  readonly atMs: number;
  /** Target id. */
  readonly target: string;
  /** A deed, or that the target's address left the answer or came (back) into it. */
  readonly kind: DemoDeed | "withdrawn" | "restored";
  /** Milliseconds from the deed that caused it; absent for deeds and for what no deed explains. */
  readonly tookMs?: number;
  /** In plain words, e.g. the last probe's; absent = nothing known. */
  readonly reason?: string;
}

/** Everything so far. Never changes; each function returns the next one. */
export interface Story {
  /** Oldest first, at most {@link MAX_EVENTS}. */
  readonly events: readonly DemoEvent[];
  /** Target ids that the last answer named; undefined before the first answer. */
  readonly answered: ReadonlySet<string> | undefined;
  /** The last deed to each target that the answer has not shown yet. */
  readonly pending: ReadonlyMap<string, { readonly deed: DemoDeed; readonly atMs: number }>;
  /** When fail-open was last seen: wall clock, milliseconds since 1970; absent = never. */
  readonly failOpenMs?: number;
}

/** Events that are kept: more than any screen shows. */
export const MAX_EVENTS = 100;

/** Milliseconds after its end in which the answer may still be that of fail-open: it is asked, health is looked at. */
const FAIL_OPEN_LAG_MS = 500;

/** Before anything happened. */
export const EMPTY_STORY: Story = { events: [], answered: undefined, pending: new Map() };

/** Something was done to a target. Doing it again before the answer shows it does not restart the clock. */
export function noteDeed(story: Story, target: string, deed: DemoDeed, nowMs: number): Story {
  const running = story.pending.get(target);
  const sameWay = running !== undefined && (running.deed === "revive") === (deed === "revive");
  const pending = new Map(story.pending).set(target, { deed, atMs: sameWay ? running.atMs : nowMs });
  return { ...story, pending, events: append(story.events, [{ atMs: nowMs, target, kind: deed }]) };
}

/** What a query was answered, in the demo's words. */
export interface AnswerSeen {
  /** Ids of the targets whose address is in the answer. */
  readonly targets: ReadonlySet<string>;
  /** All targets count as down, and all are answered for want of better ones. */
  readonly failOpen: boolean;
  /** When the answer came: wall clock, milliseconds since 1970. */
  readonly nowMs: number;
  /** Why a target left the answer, if anything is known. */
  readonly reasonOf?: (target: string) => string | undefined;
}

/** A query was answered: tells what changed since the one before. The first answer changes nothing. */
export function noteAnswer(story: Story, answer: AnswerSeen): Story {
  const { targets: after, failOpen, nowMs, reasonOf } = answer;
  const before = story.answered;
  const failOpenMs = failOpen ? nowMs : story.failOpenMs;
  const seen = failOpenMs === undefined ? {} : { failOpenMs };
  if (before === undefined) return { ...story, answered: after, ...seen };
  const hasFailOpenEnded = !failOpen && failOpenMs !== undefined && nowMs - failOpenMs <= FAIL_OPEN_LAG_MS;
  const pending = new Map(story.pending);
  // Once all are answered because all are down, no answer will tell how fast the last withdrawal was.
  if (failOpen) for (const [target, { deed }] of pending) if (deed !== "revive") pending.delete(target);

  const change = (target: string, kind: "withdrawn" | "restored"): DemoEvent => {
    const cause = pending.get(target);
    const isRestored = kind === "restored";
    // Not for what was done to it: because of how the others are.
    const others = isRestored
      ? failOpen && "all are down, so all are answered (fail-open)"
      : hasFailOpenEnded && "fail-open ended";
    const matches = cause !== undefined && (cause.deed === "revive") === isRestored;
    if (matches) pending.delete(target);
    const explains = matches && others === false;
    const reason = others === false ? (isRestored ? undefined : reasonOf?.(target)) : others;
    return {
      atMs: nowMs,
      target,
      kind,
      ...(explains ? { tookMs: nowMs - cause.atMs } : {}),
      ...(reason === undefined ? {} : { reason }),
    };
  };
  const gone = [...before].filter((target) => !after.has(target)).map((target) => change(target, "withdrawn"));
  const come = [...after].filter((target) => !before.has(target)).map((target) => change(target, "restored"));
  return { events: append(story.events, [...gone, ...come]), answered: after, pending, ...seen };
}

/** What `after` tells that `before` did not yet; for a demo that prints events one by one. */
export function eventsSince(before: Story, after: Story): readonly DemoEvent[] {
  return after.events.filter((event) => !before.events.includes(event));
}

function append(events: readonly DemoEvent[], more: readonly DemoEvent[]): readonly DemoEvent[] {
  return [...events, ...more].slice(-MAX_EVENTS);
}
