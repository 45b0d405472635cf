import type { Stamp } from "../lib/hybrid-clock.js";
import type { Override, OverrideOrigin } from "./health.js";

/* The last word on each target: what holds, and the notes of what has ended. Pure. */

/** Longest author, characters: a user name of Linux has at most 32, an e-mail address rarely more than 64. */
export const MAX_AUTHOR = 64;

/** An override and the target it is of. */
export interface OverrideEntry extends Override {
  /** The endpoint's fqdn. */
  readonly endpoint: string;
  readonly target: string;
  /** When it was said, for siblings to agree on what was said last. Absent without siblings. */
  readonly stamp?: Stamp;
  /** Holds on this server alone, whatever siblings say. Absent = no. */
  readonly isLocal?: true;
}

/** The note that nothing holds for a target any more: kept so that a sibling that was away learns of it. */
export interface EndedOverride {
  readonly endpoint: string;
  readonly target: string;
  readonly kind: "ended";
  readonly stamp: Stamp;
  /** Wall clock, milliseconds since 1970. */
  readonly setAtMs: number;
  readonly author?: string;
  readonly origin: OverrideOrigin;
}

/** The last word on a target. */
export type OverrideRecord = OverrideEntry | EndedOverride;

/** The last word on a target with the moment at which it was said: what siblings tell each other. */
export type StampedRecord = OverrideRecord & { readonly stamp: Stamp };

/** Time for which the note is kept that an override has ended, milliseconds: 7 days. */
export const ENDED_KEPT_MS = 7 * 86_400_000;

/** Who asks for a change of an override. */
export interface Actor {
  /** The person or program; absent if it is not known. */
  readonly author?: string;
  /** By which way it came. */
  readonly origin: OverrideOrigin;
}

/** What became of an override; `expired` is the only one that nobody asked for. */
export interface OverrideChange {
  readonly action: "set" | "cleared" | "expired";
  /** The override that is set, or that has ended. */
  readonly entry: OverrideEntry;
  /** Who set or cleared it; of one that expired, whose it was. */
  readonly actor: Actor;
}

/** The last words on targets, by target. */
export interface Records {
  readonly shared: Map<string, OverrideRecord>;
  /** Of this server alone; they come before the shared ones. */
  readonly local: Map<string, OverrideEntry>;
}

export function copyOf({ shared, local }: Records): Records {
  return { shared: new Map(shared), local: new Map(local) };
}

export function recordsOf({ shared, local }: Records): readonly OverrideRecord[] {
  return [...shared.values(), ...local.values()];
}

export function entryIn({ shared, local }: Records, key: string): OverrideEntry | undefined {
  const record = local.get(key) ?? shared.get(key);
  return record === undefined || record.kind === "ended" ? undefined : record;
}

/** What holds. */
export function entriesOf(records: Records): readonly OverrideEntry[] {
  const keys = new Set([...records.shared.keys(), ...records.local.keys()]);
  return [...keys].flatMap((key) => entryIn(records, key) ?? []);
}

export function isStamped(record: OverrideRecord): record is StampedRecord {
  return record.stamp !== undefined;
}

export function isLocalRecord(record: OverrideRecord): boolean {
  return record.kind !== "ended" && (record.isLocal === true || record.origin === "kubernetes");
}

/** When a record has no meaning any more, wall clock; an override that has expired leaves a note if it has a stamp. */
export function endOf(record: OverrideRecord): number {
  if (record.kind === "ended") return record.setAtMs + ENDED_KEPT_MS;
  return record.expiresAtMs ?? Number.POSITIVE_INFINITY;
}

export function isWorthKeeping(record: OverrideRecord, nowMs: number): boolean {
  return endOf(record) > nowMs;
}

/** What has to happen for `before` to become `after`. */
export function differences(before: Records, after: Records): OverrideChange[] {
  const was = new Map(entriesOf(before).map((entry) => [keyOf(entry), entry]));
  const is = new Map(entriesOf(after).map((entry) => [keyOf(entry), entry]));
  const set = [...is].filter(([key, entry]) => JSON.stringify(was.get(key)) !== JSON.stringify(entry));
  const gone = [...was].filter(([key]) => !is.has(key));
  return [
    ...set.map(([, entry]): OverrideChange => ({ action: "set", entry, actor: actorOf(entry) })),
    ...gone.map(([key, entry]): OverrideChange => {
      const note = after.shared.get(key);
      // Without a note, who cleared it only the other process knew.
      return { action: "cleared", entry, actor: note?.kind === "ended" ? actorOf(note) : { origin: entry.origin } };
    }),
  ];
}

export function endedOf(
  { endpoint, target }: { readonly endpoint: string; readonly target: string },
  stamp: Stamp,
  actor: Actor,
  nowMs: number,
): EndedOverride {
  return { endpoint, target, kind: "ended", stamp, ...actor, setAtMs: nowMs };
}

/** Names a target. */
export function keyOf({ endpoint, target }: { readonly endpoint: string; readonly target: string }): string {
  return `${endpoint} ${target}`;
}

/** Who it is, fit for logs and terminals. */
export function actorOf({ author, origin }: Actor): Actor {
  return author === undefined ? { origin } : { author: oneLine(author, MAX_AUTHOR), origin };
}

/** One line without control characters, fit for logs and terminals. */
export function oneLine(text: string, maxCharacters: number): string {
  return [...text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")].slice(0, maxCharacters).join("").trim();
}
