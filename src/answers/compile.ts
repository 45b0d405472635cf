import { FLAG, MAX_NAME_OCTETS, RCODE, TYPE } from "../wire/constants.js";
import { encodeSections } from "../wire/message.js";
import { isWithin, lowerName, type Name, parentName, prependLabels } from "../wire/name.js";
import { namesInside } from "../wire/rdata.js";
import { type EncodableRecord, QNAME } from "../wire/record-writer.js";
import { cutAbove } from "../zone/existing-names.js";
import { SOA_SERIAL_FROM_END } from "../zone/live-zone.js";
import type { RRsets } from "../zone/rrsets.js";
import type { RRset, Zone } from "../zone/zone.js";
import type { CompiledAnswer, CompiledNode } from "./answer.js";

/**
 * Aliases followed inside the zone before the chain is cut. Resolvers give up at 8 to 16 of them; a loop ends earlier,
 * at the first name met twice.
 */
const MAX_CHAIN = 16;

/** A zone at one moment, as it is compiled. */
export interface ZoneView {
  readonly zone: Pick<Zone, "name" | "cuts">;
  /** The records of a name by type; the same map as long as the records are the same. */
  rrsets(name: Name): RRsets;
  /** Whether a name exists. */
  has(name: Name): boolean;
}

/** A node and what it was made from: wherever all that is the same, this is what is compiled. */
export interface NodeCompilation {
  readonly node: CompiledNode;
  /** The records it was made from. */
  readonly reads: ReadonlyMap<Name, RRsets>;
  /** The names whose existence it depends on, besides the name itself. */
  readonly existence: ReadonlyMap<Name, boolean>;
}

/**
 * Compiles every answer of one existing name (RFC 1034 §4.3.2).
 *
 * Here answers get their final octets. A signature would be made here, from the same {@link ZoneView}.
 *
 * @param name one that exists
 */
export function compileNode(view: ZoneView, name: Name): NodeCompilation {
  const reads = new Map<Name, RRsets>();
  const existence = new Map<Name, boolean>();
  const tracked: ZoneView = {
    zone: view.zone,
    rrsets(owner) {
      const rrsets = view.rrsets(owner);
      reads.set(owner, rrsets);
      return rrsets;
    },
    has(owner) {
      const exists = view.has(owner);
      existence.set(owner, exists);
      return exists;
    },
  };
  const { zone } = view;
  const own = tracked.rrsets(name);
  if (zone.cuts.has(name)) {
    const referral = finish(zone, name, refer(tracked, name, drafted()));
    const ds = own.get(TYPE.DS);
    const answer = ds === undefined ? negative(tracked, drafted()) : positive(tracked, [ds], drafted());
    const types = [{ type: TYPE.DS, answer: finish(zone, name, answer) }];
    return { node: { types, fallback: referral, below: "fallback" }, reads, existence };
  }

  // A wildcard's answers are compiled for the name it hangs from, so that they fit behind every name below that.
  const base = isWildcard(name) ? (parentName(name) ?? name) : name;
  const compile = (type: number): CompiledAnswer => finish(zone, base, answerFor(tracked, name, type));
  const typesAtEnd = own.has(TYPE.CNAME) ? chainTypes(tracked, name) : [];
  const types = [...new Set([...own.keys(), ...typesAtEnd])].sort((a, b) => a - b);
  const anyType = ANY_PREFERENCE.find((type) => own.has(type)) ?? types[0];
  return {
    node: {
      types: types.map((type) => ({ type, answer: compile(type) })),
      fallback: own.has(TYPE.CNAME) ? compile(0) : "nodata",
      ...(anyType === undefined ? {} : { anyType }),
      below: wildcardBelow(tracked, name) === undefined ? "nxdomain" : "wildcard",
    },
    reads,
    existence,
  };
}

/** Which RRset stands for all where several would do: an alias first, then what most clients are after. */
const ANY_PREFERENCE: readonly number[] = [TYPE.CNAME, TYPE.A, TYPE.AAAA];

/** What a zone answers for a type that an existing name lacks (RFC 2308 §2.2). */
export function compileNodata(view: ZoneView): CompiledAnswer {
  return finish(view.zone, view.zone.name, negative(view, drafted()));
}

/** What a zone answers for names that do not exist (RFC 2308 §2.1). */
export function compileNxdomain(view: ZoneView): CompiledAnswer {
  return finish(view.zone, view.zone.name, { ...negative(view, drafted()), rcode: RCODE.NXDOMAIN });
}

/** Whether a name is `*.<name>`. */
export function isWildcard(name: Name): boolean {
  return name.startsWith("\x01*");
}

/** `*.<name>` (RFC 4592 §2.1.1) if it exists; it cannot where it would be too long. */
function wildcardBelow(view: ZoneView, name: Name): Name | undefined {
  if (name.length + 2 > MAX_NAME_OCTETS) return undefined;
  const wildcard = prependLabels(["*"], name);
  return view.has(wildcard) ? wildcard : undefined;
}

/** A record list still growing; `owner` is the question's name for what stands at the name asked for. */
interface Draft {
  readonly answer: EncodableRecord[];
  readonly authority: EncodableRecord[];
  /** Additional data without which the answer is of no use: glue of a referral (RFC 9471 §3.1). */
  readonly requiredAdditional: EncodableRecord[];
  readonly additional: EncodableRecord[];
  rcode: number;
  authoritative: boolean;
  /** How many records of the RRset that ends the answer are sent; infinite without a cap. */
  atMost: number;
}

function drafted(): Draft {
  return {
    answer: [],
    authority: [],
    requiredAdditional: [],
    additional: [],
    rcode: RCODE.NOERROR,
    authoritative: true,
    atMost: Number.POSITIVE_INFINITY,
  };
}

/** RFC 1034 §4.3.2 steps 3 and 4 for a name that exists, and RFC 6604 for the response code at the end of a chain. */
function answerFor(view: ZoneView, name: Name, type: number): Draft {
  const draft = drafted();
  const seen = new Set<Name>();
  let owner: Name | typeof QNAME = QNAME;
  let at = name;
  for (let links = 0; links < MAX_CHAIN && !seen.has(at); links += 1) {
    seen.add(at);
    const rrsets = view.rrsets(at);
    const alias = rrsets.get(TYPE.CNAME);
    const rrset = rrsets.get(type);
    if (rrset !== undefined) return positive(view, [rrset], draft, owner);
    if (alias === undefined) return negative(view, draft);
    push(draft.answer, alias, owner);
    const target = aliasTarget(alias);
    if (!isWithin(target, view.zone.name)) return draft;
    const found = find(view, lowerName(target));
    if (found.kind === "cut") {
      if (type !== TYPE.DS || found.name !== lowerName(target)) return refer(view, found.name, draft);
      const ds = view.rrsets(found.name).get(TYPE.DS);
      return ds === undefined ? negative(view, draft) : positive(view, [ds], draft, target);
    }
    if (found.kind === "none") return { ...negative(view, draft), rcode: RCODE.NXDOMAIN };
    owner = target;
    at = found.name;
  }
  return draft;
}

/** Where a name in the zone leads: a node of that name, a wildcard, a cut at or above it, or nothing. */
function find(
  view: ZoneView,
  name: Name,
): { readonly kind: "node" | "cut"; readonly name: Name } | { readonly kind: "none" } {
  const cut = cutAbove(name, view.zone.cuts);
  if (cut !== undefined) return { kind: "cut", name: cut };
  if (view.has(name)) return { kind: "node", name };
  for (let at = parentName(name); at !== undefined; at = parentName(at)) {
    if (!view.has(at)) continue;
    const wildcard = wildcardBelow(view, at);
    return wildcard === undefined ? { kind: "none" } : { kind: "node", name: wildcard };
  }
  return { kind: "none" };
}

/** The types with an answer of their own where a chain of aliases ends, if it ends inside the zone; at a cut that is DS. */
function chainTypes(view: ZoneView, name: Name): number[] {
  const seen = new Set<Name>();
  for (let at = name; !seen.has(at) && seen.size < MAX_CHAIN; ) {
    seen.add(at);
    const rrsets = view.rrsets(at);
    const alias = rrsets.get(TYPE.CNAME);
    if (alias === undefined) return [...rrsets.keys()];
    const target = lowerName(aliasTarget(alias));
    const found = find(view, target);
    if (found.kind === "cut" && found.name === target) return [TYPE.DS];
    if (found.kind !== "node") return [];
    at = found.name;
  }
  return [];
}

function aliasTarget(alias: RRset): Name {
  return namesOf(alias)[0] as Name;
}

function namesOf({ type, rdatas }: RRset): Name[] {
  return rdatas.flatMap((rdata) => namesInside(type, rdata).map(({ name }) => name));
}

function push(section: EncodableRecord[], rrset: RRset, owner: Name | typeof QNAME): void {
  for (const rdata of rrset.rdatas) section.push({ name: owner, type: rrset.type, ttl: rrset.ttl, rdata });
}

function positive(view: ZoneView, rrsets: readonly RRset[], draft: Draft, owner: Name | typeof QNAME = QNAME): Draft {
  for (const rrset of rrsets) {
    push(draft.answer, rrset, owner);
    draft.atMost = rrset.atMost ?? Number.POSITIVE_INFINITY;
    if (rrset.type === TYPE.NS || rrset.type === TYPE.MX || rrset.type === TYPE.SRV) {
      for (const name of new Set(namesOf(rrset).map(lowerName))) pushAddresses(view, name, draft.additional);
    }
  }
  return draft;
}

/** NODATA or the end of an NXDOMAIN: the SOA in the authority section (RFC 2308 §2). */
function negative(view: ZoneView, draft: Draft): Draft {
  const soa = view.rrsets(view.zone.name).get(TYPE.SOA);
  if (soa !== undefined) push(draft.authority, soa, view.zone.name);
  return draft;
}

/** A referral (RFC 1034 §4.3.2 step 3b): the child's NS in the authority section, and its glue. */
function refer(view: ZoneView, cut: Name, draft: Draft): Draft {
  const ns = view.rrsets(cut).get(TYPE.NS);
  if (ns === undefined) return draft;
  // Without DS: it belongs into referrals of signed zones only (RFC 4035 §3.1.4), and resolvers ask for it by itself.
  push(draft.authority, ns, cut);
  for (const name of new Set(namesOf(ns).map(lowerName))) {
    pushAddresses(view, name, isWithin(name, cut) ? draft.requiredAdditional : draft.additional);
  }
  // After an alias the answer section is ours, and so is AA; a bare referral is not (RFC 1034 §4.3.1).
  draft.authoritative = draft.answer.length > 0;
  return draft;
}

function pushAddresses(view: ZoneView, name: Name, section: EncodableRecord[]): void {
  if (!isWithin(name, view.zone.name)) return;
  const rrsets = view.rrsets(name);
  for (const type of [TYPE.A, TYPE.AAAA]) {
    const rrset = rrsets.get(type);
    if (rrset !== undefined) push(section, rrset, name);
  }
}

function finish(zone: ZoneView["zone"], base: Name, draft: Draft): CompiledAnswer {
  const { answer, authority, requiredAdditional, additional } = draft;
  const encoded = encodeSections(base, { answer, authority, additional: [...requiredAdditional, ...additional] });
  const required = answer.length + authority.length + requiredAdditional.length;
  return {
    flags: (draft.authoritative ? FLAG.AA : 0) | draft.rcode,
    answerCount: answer.length,
    authorityCount: authority.length,
    additionalCount: requiredAdditional.length + additional.length,
    body: encoded.octets,
    baseLength: base.length,
    pointers: encoded.pointers,
    serialAt: serialOffset(zone, [...answer, ...authority], encoded.records, encoded.octets.length),
    requiredLength: encoded.records[required] ?? encoded.octets.length,
    requiredAdditional: requiredAdditional.length,
    ...rotationOf(draft, encoded.records, encoded.octets.length),
  };
}

/** Offset of the serial of the one SOA an answer can hold; -1 if it holds none. */
function serialOffset(
  zone: ZoneView["zone"],
  records: readonly EncodableRecord[],
  offsets: readonly number[],
  end: number,
): number {
  const index = records.findIndex(
    (record) => record.type === TYPE.SOA && (record.name === QNAME || record.name === zone.name),
  );
  return index < 0 ? -1 : (offsets[index + 1] ?? end) - SOA_SERIAL_FROM_END;
}

/** The rotated block of an answer. */
type Rotation = Pick<CompiledAnswer, "rotationAt" | "rotationCount" | "rotationStride" | "rotationSent">;

const NO_ROTATION: Rotation = { rotationAt: 0, rotationCount: 0, rotationStride: 0, rotationSent: 0 };

/** The address records at the end of the answer section: one RRset, so all of one length. */
function rotationOf({ answer, atMost }: Draft, offsets: readonly number[], end: number): Rotation {
  const last = answer.at(-1)?.type;
  if (last !== TYPE.A && last !== TYPE.AAAA) return NO_ROTATION;
  const first = answer.findIndex((record) => record.type === last);
  const at = offsets[first] ?? 0;
  const count = answer.length - first;
  const stop = offsets[answer.length] ?? end;
  const stride = (stop - at) / count;
  // Past the reach of compression pointers the records of one RRset may differ in length.
  const even = answer.every((_, index) => index < first || (offsets[index] ?? 0) === at + (index - first) * stride);
  if (!even) return NO_ROTATION;
  return { rotationAt: at, rotationCount: count, rotationStride: stride, rotationSent: Math.min(count, atMost) };
}
