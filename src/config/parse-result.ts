/** Why a value cannot be, and what to write instead; becomes a `Problem` once its place is known. */
export interface Fault {
  /** Completes "`path` is `value`: …": a clause without a full stop. */
  readonly why: string;
  /** What to write instead: one sentence. */
  readonly remedy: string;
  /** Stable identifier, `CONFIG_…`. */
  readonly code: string;
}

/** What reading one value came to. */
export type Verdict<T> = { readonly value: T } | Fault;
