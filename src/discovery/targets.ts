import type { Position, TargetConfig } from "../config/config.js";
import type { LearnedAddress, SeenHealth } from "./learn.js";
import { quoted } from "./learn.js";
import type { SourceNotice } from "./source.js";

/** What an endpoint's targets are made of. */
export interface TargetSetInput {
  /** The targets of the file. */
  readonly written: readonly TargetConfig[];
  readonly learned: readonly LearnedAddress[];
  readonly maxTargets: number;
  /** Candidates that were not even looked at, since there are so many. */
  readonly skipped: number;
  /** Of the endpoint, for targets that stand in no file. */
  readonly position: Position;
  /** Why the endpoint's zone has no room for a target of this id; undefined = it has. */
  conflict(id: string): string | undefined;
  healthOf(address: string): SeenHealth | undefined;
}

/** Where the addresses of a target come from. */
export interface Origin {
  /** `file` of the configuration, and names of sources. At least one. */
  readonly origins: readonly string[];
  /** Since when no source proposes any of its addresses, milliseconds since 1970; absent = one does, or it is written. */
  readonly goneSinceMs?: number;
}

export interface TargetSet {
  /** Those of the file first, in their order; then by id. */
  readonly targets: readonly TargetConfig[];
  /** By target id. */
  readonly origins: ReadonlyMap<string, Origin>;
  /** Why sources want targets drained, by id. */
  readonly drains: ReadonlyMap<string, string>;
  readonly notices: readonly SourceNotice[];
  /** Targets that are left out since there are too many. */
  readonly ignored: number;
  /** Of `learned`, what belongs to these targets; the rest need not be remembered while its source proposes it. */
  readonly kept: readonly LearnedAddress[];
}

/** The origin of a target that is written in the configuration. */
export const WRITTEN = "config";

/**
 * The targets that an endpoint has: those of the file, and those that were learned. Pure.
 *
 * What is written stands: its addresses belong to it whatever sources call them. A learned address of the same id joins it.
 */
export function targetSet(input: TargetSetInput): TargetSet {
  const { written, learned, maxTargets } = input;
  const owners = new Map(written.flatMap(({ id, addresses }) => addresses.map((address) => [address, id] as const)));
  const isWritten = new Set(written.map(({ id }) => id));
  const fixed = new Set(written.filter(isFixed).map(({ id }) => id));
  const drains = new Map<string, string>();
  const groups = new Map<string, LearnedAddress[]>();
  for (const one of learned) {
    const owner = owners.get(one.address);
    if (one.drain !== undefined && !drains.has(owner ?? one.id)) drains.set(owner ?? one.id, one.drain);
    if (owner !== undefined || fixed.has(one.id)) continue;
    const group = groups.get(one.id);
    if (group === undefined) groups.set(one.id, [one]);
    else group.push(one);
  }
  const dropped = new Set<LearnedAddress>();
  for (const [id, group] of groups) groups.set(id, withoutOldAddresses(group, input, dropped));
  const notices: SourceNotice[] = [];
  const targets = written.map((target) => withLearned(target, groups.get(target.id) ?? []));
  for (const { id } of written) groups.delete(id);
  const found = [...groups].filter(([id]) => {
    const why = input.conflict(id);
    if (why !== undefined) notices.push({ key: `NAME ${id}`, text: `${quoted(id)} cannot be a target: ${why}` });
    return why === undefined;
  });
  const room = Math.max(0, maxTargets - written.length);
  const taken = new Set(mostWorth(found, room, input));
  const ignored = found.length - taken.size + input.skipped;
  if (ignored > 0) notices.push(tooMany(maxTargets, ignored, written.length + found.length + input.skipped));
  for (const id of [...taken].sort()) targets.push(learnedTarget(id, groups.get(id) ?? [], input.position));
  const isKept = ({ address, id }: LearnedAddress) => owners.has(address) || taken.has(id) || isWritten.has(id);
  const kept = learned.filter((one) => isKept(one) && !dropped.has(one));
  const origins = originsOf(targets, isWritten, kept, owners);
  return { targets, origins, drains: new Map([...drains].filter(([id]) => origins.has(id))), notices, ignored, kept };
}

/** Addresses of one target that no source proposes any more and that do not pass: the newest of them are kept. */
const MAX_OLD_ADDRESSES = 4;

/** A target whose address changes again and again must not gather all that it ever had. */
function withoutOldAddresses(
  group: LearnedAddress[],
  { healthOf }: TargetSetInput,
  dropped: Set<LearnedAddress>,
): LearnedAddress[] {
  if (group.length <= MAX_OLD_ADDRESSES) return group;
  const old = group.filter((one) => one.goneSinceMs !== undefined && healthOf(one.address)?.health !== "up");
  const oldest = old.toSorted((a, b) => (b.goneSinceMs ?? 0) - (a.goneSinceMs ?? 0)).slice(MAX_OLD_ADDRESSES);
  for (const one of oldest) dropped.add(one);
  return oldest.length === 0 ? group : group.filter((one) => !dropped.has(one));
}

/** Whether a target takes no learned addresses: it is switched off, or probed at another place that says nothing of them. */
function isFixed({ disabled, probe }: TargetConfig): boolean {
  return disabled === true || probe?.address !== undefined;
}

function withLearned(target: TargetConfig, group: readonly LearnedAddress[]): TargetConfig {
  if (group.length === 0) return target;
  const unproven = unprovenOf(group);
  return {
    ...target,
    addresses: [...target.addresses, ...group.map(({ address }) => address)],
    ...(unproven.length === 0 ? {} : { unproven }),
  };
}

function learnedTarget(id: string, group: readonly LearnedAddress[], position: Position): TargetConfig {
  const unproven = unprovenOf(group);
  return {
    position,
    id,
    addresses: group.map(({ address }) => address),
    ...(unproven.length === 0 ? {} : { unproven }),
  };
}

function unprovenOf(group: readonly LearnedAddress[]): string[] {
  return group.filter(({ isProven }) => !isProven).map(({ address }) => address);
}

/** Ids of the targets to keep, if not all can be: those that serve, then those that are proposed, then the rest. */
function mostWorth(
  found: readonly (readonly [string, readonly LearnedAddress[]])[],
  room: number,
  { healthOf }: TargetSetInput,
): string[] {
  if (found.length <= room) return found.map(([id]) => id);
  const rank = (group: readonly LearnedAddress[]): number => {
    if (group.some(({ address }) => healthOf(address)?.health === "up")) return 0;
    if (group.some(({ goneSinceMs }) => goneSinceMs === undefined)) return group.some((one) => one.isProven) ? 1 : 2;
    return 3;
  };
  const ranked = found.map(([id, group]) => ({ id, rank: rank(group) }));
  return ranked
    .sort((a, b) => a.rank - b.rank || (a.id < b.id ? -1 : 1))
    .slice(0, room)
    .map(({ id }) => id);
}

function tooMany(maxTargets: number, ignored: number, all: number): SourceNotice {
  const text = `there are ${all} targets, but maxTargets is ${maxTargets}: ${ignored} are left out (does a selector match too much?)`;
  // Told once, however often the number changes: status and metrics have it.
  return { key: "TOO_MANY", text };
}

function originsOf(
  targets: readonly TargetConfig[],
  isWritten: ReadonlySet<string>,
  learned: readonly LearnedAddress[],
  owners: ReadonlyMap<string, string>,
): ReadonlyMap<string, Origin> {
  const own = new Map<string, LearnedAddress[]>(targets.map(({ id }) => [id, []]));
  for (const one of learned) own.get(owners.get(one.address) ?? one.id)?.push(one);
  return new Map([...own].map(([id, addresses]) => [id, originOf(addresses, isWritten.has(id))]));
}

function originOf(learned: readonly LearnedAddress[], isWritten: boolean): Origin {
  const sources = learned.flatMap((one) => (one.goneSinceMs === undefined || !isWritten ? one.sources : []));
  const gone = learned.flatMap(({ goneSinceMs }) => goneSinceMs ?? []);
  const isGone = !isWritten && gone.length === learned.length;
  return {
    origins: [...new Set([...(isWritten ? [WRITTEN] : []), ...sources])],
    ...(isGone ? { goneSinceMs: Math.max(...gone) } : {}),
  };
}
