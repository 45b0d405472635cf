import { type Name, parentName } from "../wire/name.js";

/** The cut at or above `name`, if there is one; of several the one nearest to the apex. */
export function cutAbove(name: Name, cuts: ReadonlySet<Name>): Name | undefined {
  if (cuts.size === 0) return undefined;
  let found: Name | undefined;
  for (let at: Name | undefined = name; at !== undefined; at = parentName(at)) {
    if (cuts.has(at)) found = at;
  }
  return found;
}

/**
 * The names of a zone that exist and are not hidden below a cut: owners, and the empty non-terminals between them and
 * the apex (RFC 4592 §2.2.2). Each name counts what keeps it: the owners that stand at it, and the existing names
 * directly below it. So it disappears with the last of them.
 */
export class ExistingNames {
  private readonly counts = new Map<Name, number>();

  /** @param apex exists always */
  constructor(
    apex: Name,
    private readonly cuts: ReadonlySet<Name>,
  ) {
    this.counts.set(apex, 1);
  }

  has(name: Name): boolean {
    return this.counts.has(name);
  }

  all(): Iterable<Name> {
    return this.counts.keys();
  }

  /** Counts one more owner, which lies in the zone; one below a cut counts for the cut. @returns names that appear */
  add(owner: Name): Name[] {
    const appeared: Name[] = [];
    for (let at: Name | undefined = this.visible(owner); at !== undefined; at = parentName(at)) {
      const count = this.counts.get(at) ?? 0;
      this.counts.set(at, count + 1);
      if (count > 0) break;
      appeared.push(at);
    }
    return appeared;
  }

  /** Counts one owner less, which was added before. @returns names that disappear */
  remove(owner: Name): Name[] {
    const disappeared: Name[] = [];
    for (let at: Name | undefined = this.visible(owner); at !== undefined; at = parentName(at)) {
      const count = (this.counts.get(at) ?? 0) - 1;
      if (count > 0) {
        this.counts.set(at, count);
        break;
      }
      this.counts.delete(at);
      disappeared.push(at);
    }
    return disappeared;
  }

  private visible(owner: Name): Name {
    return cutAbove(owner, this.cuts) ?? owner;
  }
}
