/** One apiserver as its source names it; nothing of it has been checked. */
export interface Candidate {
  /** What the source calls it: the name of a Node, of a host. Need not be a DNS label. */
  readonly id: string;
  /** As the source writes them. */
  readonly addresses: readonly string[];
  /** Where its apiserver listens; absent = the source does not say. */
  readonly port?: number;
  /** Why the source wants it out of answers while others are left, one clause; absent = it does not. */
  readonly drain?: string;
}

/** Why a source cannot be read now. */
export interface SourceFailure {
  /** One clause, without secrets. */
  readonly problem: string;
  /** It does not pass by itself: a wrong credential, missing rights. */
  readonly needsOperator: boolean;
}

/** Something that its operator should know of a source that works. */
export interface SourceNotice {
  /** Stable, so that each is told once: `NODE_WITHOUT_ADDRESS cp4`. */
  readonly key: string;
  /** One sentence. */
  readonly text: string;
}

/** Who is told what a source finds. */
export interface SourceListener {
  /** Everything that the source proposes now: always the whole set. */
  proposed(candidates: readonly Candidate[], notices: readonly SourceNotice[]): void;
  /** The source was heard, and nothing has changed. */
  confirmed(): void;
  failed(failure: SourceFailure): void;
  /** How long the credential holds; undefined = that is not known. */
  credentialRead(validity: { readonly endsAtMs: number; readonly warnFromMs: number } | undefined): void;
}

/** Where candidates come from. It reports until it is stopped, and never throws. */
export interface Source {
  start(listener: SourceListener): void;
  /** Final. Nothing is reported any more. */
  stop(): void;
}
