import { TYPE } from "../wire/constants.js";
import { type Name, parentName } from "../wire/name.js";
import type { LiveZone, ZoneChange } from "../zone/live-zone.js";
import type { Answers, CompiledNode, CompiledZone, ZoneUpdate } from "./answer.js";
import { compileNodata, compileNode, compileNxdomain, isWildcard, type NodeCompilation } from "./compile.js";

/** Compilations of one name that are kept. */
const MAX_KEPT = 16;

/** What a node takes besides its answers. */
const NODE_OCTETS = 500;

/** Octets of answers that a zone keeps besides those it gives; past it all are let go, and the next are kept anew. */
const MAX_KEPT_OCTETS = 1 << 20;

/** Compiles a live zone: whole once, and afterwards what a change touches. */
export class ZoneCompiler {
  /** Name → the other names whose answers were made from it, or from its existence. */
  private readonly dependents = new Map<Name, Set<Name>>();
  /** Name → the other names that its answers were made from; absent = none. */
  private readonly sources = new Map<Name, ReadonlySet<Name>>();
  /** What changes have compiled, by name: health goes to and fro, and what it comes back to need not be made again. */
  private readonly cache = new Map<Name, NodeCompilation[]>();
  private cachedOctets = 0;
  /** Names whose answers may have changed since the last {@link takeUpdate}. */
  private readonly touched = new Set<Name>();
  /** Whether the whole zone may have. */
  private isWhole = false;

  constructor(private readonly live: LiveZone) {}

  /** The serial that is published now. */
  get serial(): number {
    return this.live.serial;
  }

  /** All answers as they stand. */
  compile(): CompiledZone {
    const { live } = this;
    const nodes = [...live.names()].map((name) => {
      const compilation = compileNode(live, name);
      this.note(name, compilation);
      return { name, node: compilation.node };
    });
    return {
      name: live.zone.name,
      serial: live.serial,
      nodata: compileNodata(live),
      nxdomain: compileNxdomain(live),
      nodes,
    };
  }

  /** Takes note of a change that the live zone has made. */
  touch({ rrsets, appeared, disappeared }: ZoneChange): void {
    const { name: apex } = this.live.zone;
    for (const { name, type } of rrsets) {
      // It stands in every negative answer.
      if (type === TYPE.SOA && name === apex) this.isWhole = true;
      this.touchName(name);
    }
    for (const name of [...appeared, ...disappeared]) {
      this.touchName(name);
      const parent = isWildcard(name) ? parentName(name) : undefined;
      if (parent !== undefined) this.touched.add(parent);
    }
  }

  /**
   * What all changes since the last call do to the answers.
   *
   * @returns the whole zone where they concern all of it
   */
  takeUpdate(): CompiledZone | ZoneUpdate {
    const { live, touched } = this;
    const names = [...touched];
    const isWhole = this.isWhole;
    touched.clear();
    this.isWhole = false;
    const removed = names.filter((name) => !live.has(name));
    for (const name of removed) this.forget(name);
    if (isWhole) return this.compile();
    const nodes = names.filter((name) => live.has(name)).map((name) => ({ name, node: this.recall(name).node }));
    return { zone: live.zone.name, serial: live.serial, nodes, removed };
  }

  /** A name has other records, appeared or disappeared: touches it, and what was made from it. */
  private touchName(name: Name): void {
    this.touched.add(name);
    for (const dependent of this.dependents.get(name) ?? []) this.touched.add(dependent);
  }

  private recall(name: Name): NodeCompilation {
    const candidates = this.cache.get(name) ?? [];
    const cached = candidates.find((candidate) => this.isCurrent(candidate));
    const compilation = cached ?? compileNode(this.live, name);
    this.note(name, compilation);
    if (cached !== undefined) return cached;
    this.cachedOctets += octetsOf(compilation.node);
    if (this.cachedOctets > MAX_KEPT_OCTETS) {
      this.cache.clear();
      this.cachedOctets = 0;
    } else {
      this.cache.set(name, [compilation, ...candidates.slice(0, MAX_KEPT - 1)]);
    }
    return compilation;
  }

  private isCurrent({ reads, existence }: NodeCompilation): boolean {
    for (const [name, rrsets] of reads) if (this.live.rrsets(name) !== rrsets) return false;
    for (const [name, exists] of existence) if (this.live.has(name) !== exists) return false;
    return true;
  }

  /** Takes note of what the answers of a name are made from now. */
  private note(name: Name, { reads, existence }: NodeCompilation): void {
    const before = this.sources.get(name);
    const now = new Set<Name>();
    for (const source of reads.keys()) if (source !== name) now.add(source);
    // The wildcard below a name is followed by `touchedBy`: noting it for every name would take memory for each.
    for (const source of existence.keys()) {
      if (source !== name && !(isWildcard(source) && parentName(source) === name)) now.add(source);
    }
    if (before === undefined && now.size === 0) return;
    for (const source of before ?? []) if (!now.has(source)) this.removeDependent(source, name);
    for (const source of now) {
      const dependents = this.dependents.get(source);
      if (dependents === undefined) this.dependents.set(source, new Set([name]));
      else dependents.add(name);
    }
    if (now.size === 0) this.sources.delete(name);
    else this.sources.set(name, now);
  }

  /** Lets go of what is known of a name that does not exist any more. */
  private forget(name: Name): void {
    for (const source of this.sources.get(name) ?? []) this.removeDependent(source, name);
    this.sources.delete(name);
  }

  private removeDependent(source: Name, dependent: Name): void {
    const dependents = this.dependents.get(source);
    dependents?.delete(dependent);
    if (dependents?.size === 0) this.dependents.delete(source);
  }
}

/** What a node takes, by and large. */
function octetsOf({ types, fallback }: CompiledNode): number {
  const answers = types.flatMap(({ answer }) => formsOf(answer));
  if (fallback !== "nodata") answers.push(...formsOf(fallback));
  return answers.reduce((sum, { body, pointers }) => sum + body.length + 4 * pointers.length, NODE_OCTETS);
}

function formsOf(answers: Answers) {
  return "body" in answers ? [answers] : answers.forms;
}
