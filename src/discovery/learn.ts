import { parseAddress, specialKind } from "../config/address.js";
import { idOfAddress, labelOf, markedLabel } from "./label.js";
import type { Candidate, SourceNotice } from "./source.js";

/** One address that was learned. What is kept of discovery is a list of these. */
export interface LearnedAddress {
  /** In the form of `parseAddress`. Unique in the list. */
  readonly address: string;
  /** The target's id, a DNS label. */
  readonly id: string;
  /** What its source calls it. */
  readonly name: string;
  /** Names of the sources that propose it, or did last. At least one. */
  readonly sources: readonly string[];
  /** Whether it has ever passed a probe. */
  readonly isProven: boolean;
  /** Since when no source proposes it, milliseconds since 1970; absent = one does. */
  readonly goneSinceMs?: number;
  /** See {@link Candidate.drain}. */
  readonly drain?: string;
}

/** What probes say of an address. */
export interface SeenHealth {
  readonly health: "unknown" | "up" | "down";
  /** Since when, milliseconds since 1970. */
  readonly sinceMs: number;
}

/** What is learned from. */
export interface Lesson {
  /** Addresses of the targets that the configuration itself names. */
  readonly written: readonly string[];
  readonly learned: readonly LearnedAddress[];
  /** Names of the sources that are configured, in their order: the first decides on names. */
  readonly sources: readonly string[];
  /** What each proposes; one that is missing has not said anything yet, so that what it said before holds. */
  readonly proposals: ReadonlyMap<string, readonly Candidate[]>;
  /** Most candidates of one source that are looked at, at least 1: those that are known, then by id. */
  readonly mostCandidates: number;
  /** Port of the endpoint, which clients dial. */
  readonly port: number;
  readonly allowSpecialAddresses: boolean;
  readonly forgetAfterMs: number;
  /** Undefined for an address that is not probed. */
  healthOf(address: string): SeenHealth | undefined;
  /** Addresses that have passed since the last lesson, whatever they are now. */
  readonly passed: ReadonlySet<string>;
  /** Wall clock, milliseconds since 1970. */
  readonly nowMs: number;
}

export interface Learned {
  /** In the order of sources and ids; what no source proposes comes last. */
  readonly learned: readonly LearnedAddress[];
  readonly notices: readonly SourceNotice[];
  /** Candidates that were not looked at. */
  readonly skipped: number;
  /** Milliseconds until an address may have to be forgotten; absent = none waits for that. */
  readonly againInMs?: number;
}

/** An address that has been claimed for a name. */
type Claim = { -readonly [K in keyof LearnedAddress]: LearnedAddress[K] };

/**
 * Brings what was learned up to date. Pure.
 *
 * An address stays while a source proposes it; one that none proposes any more stays until it has been down for `forgetAfterMs`.
 * Addresses and ids that cannot be used are told and left out.
 */
export function learn(lesson: Lesson): Learned {
  const round = new Round(lesson);
  for (const source of lesson.sources) {
    const candidates = lesson.proposals.get(source);
    if (candidates === undefined) round.remember(source);
    else for (const candidate of sortById(round.choose(candidates))) round.take(source, candidate);
  }
  return round.finish();
}

/** How soon is looked again whether an address can take the place of those whose source is gone. */
const LOOK_AGAIN_MS = 1_000;

/** One pass over all sources. */
class Round {
  readonly #lesson: Lesson;
  readonly #before: ReadonlyMap<string, LearnedAddress>;
  readonly #claims = new Map<string, Claim>();
  /** The name that has each id, by id. */
  readonly #names = new Map<string, string>();
  /** The sources whose candidates have each id, by id. */
  readonly #sourcesOf = new Map<string, Set<string>>();
  /** Names that already had their id before, by source and name. */
  readonly #idsBefore = new Map<string, string>();
  readonly #notices = new Map<string, string>();
  #skipped = 0;

  constructor(lesson: Lesson) {
    this.#lesson = lesson;
    this.#before = new Map(lesson.learned.map((one) => [one.address, one]));
    for (const { id, name, goneSinceMs } of lesson.learned) {
      if (goneSinceMs === undefined) this.#idsBefore.set(name, id);
    }
  }

  /** Claims what a source has said before. */
  remember(source: string): void {
    for (const one of this.#lesson.learned) {
      if (!one.sources.includes(source) || one.goneSinceMs !== undefined) continue;
      const claim = this.#claims.get(one.address);
      if (claim !== undefined) claim.sources = withSource(claim.sources, source);
      else {
        this.#names.set(one.id, one.name);
        this.#claims.set(one.address, { ...one, sources: [source] });
      }
      this.#noteSource(claim?.id ?? one.id, source);
    }
  }

  /** No more candidates than are looked at: the rest is not even read, so that thousands cost little. */
  choose(candidates: readonly Candidate[]): readonly Candidate[] {
    const { mostCandidates } = this.#lesson;
    if (candidates.length <= mostCandidates) return candidates;
    this.#skipped += candidates.length - mostCandidates;
    const known = new Set(this.#lesson.learned.map(({ name }) => name));
    const first = candidates.filter(({ id }) => known.has(id));
    const rest = candidates.filter(({ id }) => !known.has(id));
    return [...first, ...byPlainId(rest)].slice(0, mostCandidates);
  }

  take(source: string, candidate: Candidate): void {
    const { port } = this.#lesson;
    const { called } = readingOf(candidate);
    if (candidate.port !== undefined && candidate.port !== port) {
      this.#tell(
        `PORT ${source} ${candidate.id}`,
        `${called} listens on port ${candidate.port}, but clients of this endpoint dial ${port}: it is left out`,
      );
      return;
    }
    const { addresses: read, isCut } = readingOf(candidate);
    if (isCut) {
      const text = `${called} has ${candidate.addresses.length} addresses: those after the first ${MAX_ADDRESSES} are left out`;
      this.#tell(`ADDRESSES ${source} ${candidate.id}`, text);
    }
    const addresses = read.flatMap((one) => this.#usable(source, called, one) ?? []);
    const [first] = addresses;
    if (first === undefined) return;
    const id = this.#idOf(source, candidate, first);
    for (const address of new Set(addresses)) this.#claim(source, candidate, id, address);
  }

  finish(): Learned {
    let againInMs = Number.POSITIVE_INFINITY;
    const gone: LearnedAddress[] = [];
    const isAnyUp = [...this.#claims.keys(), ...this.#lesson.written].some(
      (address) => this.#lesson.healthOf(address)?.health === "up",
    );
    for (const one of this.#lesson.learned) {
      if (this.#claims.has(one.address)) continue;
      const isConfigured = one.sources.some((name) => this.#lesson.sources.includes(name));
      // Without its source, an address serves until another one does: a source with other settings has yet to speak.
      if (!isConfigured && isAnyUp) continue;
      if (!isConfigured) againInMs = Math.min(againInMs, LOOK_AGAIN_MS);
      const { goneSinceMs = this.#lesson.nowMs } = one;
      const leftMs = this.#untilForgottenMs(one.address, goneSinceMs);
      if (leftMs <= 0) continue;
      againInMs = Math.min(againInMs, leftMs);
      const { drain: _, ...kept } = one;
      gone.push({ ...kept, isProven: this.#isProven(one), goneSinceMs });
    }
    return {
      learned: [...this.#claims.values(), ...gone],
      notices: [...this.#notices].map(([key, text]) => ({ key, text })),
      skipped: this.#skipped,
      ...(againInMs === Number.POSITIVE_INFINITY ? {} : { againInMs }),
    };
  }

  /** Infinite while it passes: probes decide. */
  #untilForgottenMs(address: string, goneSinceMs: number): number {
    const { healthOf, forgetAfterMs, nowMs } = this.#lesson;
    const seen = healthOf(address);
    if (seen?.health === "up") return Number.POSITIVE_INFINITY;
    const sinceMs = Math.max(goneSinceMs, seen?.health === "down" ? seen.sinceMs : goneSinceMs);
    return sinceMs + forgetAfterMs - nowMs;
  }

  #claim(source: string, { id: name, drain }: Candidate, id: string, address: string): void {
    const claim = this.#claims.get(address);
    if (claim !== undefined) {
      if (claim.name !== name && claim.sources.includes(source)) {
        this.#tell(
          `SHARED ${source} ${address}`,
          `${address} is the address of several, of ${quoted(claim.name)} and ${quoted(name)} among others: that is one target, whichever answers there (an advertise address that is a virtual IP?)`,
        );
        return;
      }
      claim.sources = withSource(claim.sources, source);
      this.#noteSource(claim.id, source);
      if (drain !== undefined) claim.drain = drain;
      return;
    }
    const before = this.#before.get(address);
    const isProven = before !== undefined && before.id === id && this.#isProven(before);
    this.#claims.set(address, {
      ...{ address, id, name, sources: [source] },
      isProven: isProven || this.#lesson.healthOf(address)?.health === "up",
      ...(drain === undefined ? {} : { drain }),
    });
    this.#noteSource(id, source);
  }

  #noteSource(id: string, source: string): void {
    const sources = this.#sourcesOf.get(id);
    if (sources === undefined) this.#sourcesOf.set(id, new Set([source]));
    else sources.add(source);
  }

  #isProven({ address, isProven }: LearnedAddress): boolean {
    return isProven || this.#lesson.passed.has(address) || this.#lesson.healthOf(address)?.health === "up";
  }

  /** The id of a candidate: what it had before, else its label, else that with a mark. */
  #idOf(source: string, candidate: Candidate, address: string): string {
    const { id: name } = candidate;
    const label = readingOf(candidate).label || labelOf(idOfAddress(address));
    const before = this.#idsBefore.get(name);
    const wanted = before !== undefined && (this.#names.get(before) ?? name) === name ? before : label;
    const holder = this.#names.get(wanted);
    const isTaken = holder !== undefined && holder !== name && !this.#isOfAnotherSource(wanted, source);
    const id = isTaken ? markedLabel(wanted, name) : wanted;
    if (isTaken) {
      this.#tell(
        `COLLISION ${source} ${name}`,
        `${quoted(holder)} and ${quoted(name)} both make the name ${wanted}: the second is called ${id}`,
      );
    }
    if (!this.#names.has(id)) this.#names.set(id, name);
    return id;
  }

  /** Whether only other sources have this id: what two sources call the same is the same. */
  #isOfAnotherSource(id: string, source: string): boolean {
    return this.#sourcesOf.get(id)?.has(source) !== true;
  }

  #usable(source: string, called: string, { text, address, fault, special }: ReadAddress): string | undefined {
    const isSpecial = special !== undefined && !this.#lesson.allowSpecialAddresses;
    const why = isSpecial ? `that is ${special}, which no client could use` : fault;
    if (why === undefined) return address;
    this.#tell(
      `ADDRESS ${source} ${text.slice(0, 100)}`,
      `${called} has the address ${quoted(text)}: ${why}; it is left out`,
    );
    return undefined;
  }

  #tell(key: string, text: string): void {
    if (this.#notices.size < MAX_NOTICES) this.#notices.set(key.slice(0, 300), text);
  }
}

/** Most notices of one set: who reads a hundred knows that something is wrong. */
export const MAX_NOTICES = 100;

/** Most addresses of one candidate that are looked at: each is probed, and a machine has one or two of each family. */
const MAX_ADDRESSES = 16;

/** One address as it is written, and what it is. */
interface ReadAddress {
  readonly text: string;
  /** Absent with `fault`. */
  readonly address?: string;
  /** Why it is none. */
  readonly fault?: string;
  /** See {@link specialKind}. */
  readonly special?: string | undefined;
}

interface Reading {
  readonly label: string;
  /** For messages. */
  readonly called: string;
  readonly addresses: readonly ReadAddress[];
  /** It has more than {@link MAX_ADDRESSES}. */
  readonly isCut: boolean;
}

/** Sources propose the same objects again and again, of which few are new. */
const readings = new WeakMap<Candidate, Reading>();

function readingOf(candidate: Candidate): Reading {
  const known = readings.get(candidate);
  if (known !== undefined) return known;
  const { id, addresses } = candidate;
  const made = {
    label: labelOf(id),
    called: quoted(id),
    addresses: addresses.slice(0, MAX_ADDRESSES).map(readAddress),
    isCut: addresses.length > MAX_ADDRESSES,
  };
  readings.set(candidate, made);
  return made;
}

function readAddress(text: string): ReadAddress {
  const parsed = parseAddress(text);
  if (!("value" in parsed)) return { text, fault: parsed.why };
  return { text, address: parsed.value, special: specialKind(parsed.value) };
}

function byPlainId(candidates: readonly Candidate[]): readonly Candidate[] {
  const byId = new Map(candidates.map((candidate) => [candidate.id, candidate]));
  return [...byId.keys()].sort().flatMap((id) => byId.get(id) ?? []);
}

/** By id. An id that is a label already comes before others that would be made into it. */
function sortById(candidates: readonly Candidate[]): readonly Candidate[] {
  const byId = new Map<string, Candidate[]>();
  for (const candidate of candidates) {
    const same = byId.get(candidate.id);
    if (same === undefined) byId.set(candidate.id, [candidate]);
    else same.push(candidate);
  }
  const labels: string[] = [];
  const others: string[] = [];
  for (const [id, [first]] of byId) (first && readingOf(first).label === id ? labels : others).push(id);
  // Without a function that compares, which costs most of an update.
  return [...labels.sort(), ...others.sort()].flatMap((id) => byId.get(id) ?? []);
}

function withSource(sources: readonly string[], source: string): readonly string[] {
  return sources.includes(source) ? sources : [...sources, source];
}

/** Text of a source as messages show it: short, without control characters. */
export function quoted(text: string): string {
  const clean = text.replace(/[\p{Cc}\p{Cf}]+/gu, " ");
  return JSON.stringify(clean.length > 80 ? `${clean.slice(0, 80)}…` : clean);
}
