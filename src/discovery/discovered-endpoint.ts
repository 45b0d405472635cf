import type { EndpointConfig } from "../config/config.js";
import { type LearnedAddress, learn, MAX_NOTICES, type SeenHealth } from "./learn.js";
import type { Candidate, SourceFailure, SourceNotice } from "./source.js";
import { type TargetSet, targetSet } from "./targets.js";

/** Candidates of one source that are looked at: more than there can be targets, since some cannot be used. */
const MIN_CANDIDATES = 1_000;
const CANDIDATES_PER_TARGET = 4;

/** How a source does. */
export interface SourceState {
  readonly name: string;
  readonly type: "kubernetes" | "dns" | "file";
  /** `starting`: not heard yet. `empty`: it proposes nothing, which removes nothing. */
  readonly state: "starting" | "ok" | "empty" | "failing";
  /** When it was heard last, milliseconds since 1970; absent = not since the start. */
  readonly heardAtMs?: number;
  /** Why it cannot be read; present while it fails. */
  readonly failure?: SourceFailure;
  /** Candidates in its newest set that was not empty. */
  readonly candidates: number;
  /** How long its credential holds, milliseconds since 1970, as far as known. */
  readonly credential?: { readonly endsAtMs: number; readonly warnFromMs: number };
}

/** What the world is like when targets are decided. */
export interface Surroundings {
  readonly nowMs: number;
  healthOf(address: string): SeenHealth | undefined;
}

/** What came of an update. */
export interface Updated extends TargetSet {
  /** Notices that were not there at the update before. */
  readonly news: readonly SourceNotice[];
  readonly againInMs?: number;
}

/** What an endpoint is told of by its configuration. */
export interface DiscoveredConfig {
  /** With the targets of the file. */
  readonly endpoint: EndpointConfig & { readonly discover: NonNullable<EndpointConfig["discover"]> };
  readonly allowSpecialAddresses: boolean;
  /** See `TargetSetInput.conflict`. */
  conflict(id: string): string | undefined;
}

/** What is known of one endpoint's targets: what sources propose, and what was learned from it. */
export class DiscoveredEndpoint {
  #config: DiscoveredConfig;
  #learned: readonly LearnedAddress[];
  #sources = new Map<string, SourceState>();
  /** The newest set of each source that was not empty. */
  readonly #proposals = new Map<string, readonly Candidate[]>();
  readonly #notices = new Map<string, readonly SourceNotice[]>();
  #told: ReadonlySet<string> = new Set();
  /** Addresses that have passed since the last update: they may be down again by the next one. */
  #passed = new Set<string>();
  #now: TargetSet | undefined;

  constructor(config: DiscoveredConfig, learned: readonly LearnedAddress[]) {
    this.#config = config;
    this.#learned = learned;
    this.configure(config);
  }

  get config(): DiscoveredConfig {
    return this.#config;
  }

  get learned(): readonly LearnedAddress[] {
    return this.#learned;
  }

  /** As the last {@link update} left them. */
  get now(): TargetSet | undefined {
    return this.#now;
  }

  /** In the order of the configuration. */
  get sources(): readonly SourceState[] {
    return [...this.#sources.values()];
  }

  /** Takes another configuration; sources that stay keep what they said. */
  configure(config: DiscoveredConfig): void {
    this.#config = config;
    const before = this.#sources;
    this.#sources = new Map(
      config.endpoint.discover.sources.map(({ name, type }) => [
        name,
        before.get(name) ?? { name, type, state: "starting", candidates: 0 },
      ]),
    );
    for (const name of before.keys()) if (!this.#sources.has(name)) this.forget(name);
  }

  /** A source begins anew, with other settings: what it said does not count any more. */
  forget(source: string): void {
    const state = this.#sources.get(source);
    if (state !== undefined)
      this.#sources.set(source, { name: source, type: state.type, state: "starting", candidates: 0 });
    this.#proposals.delete(source);
    this.#notices.delete(source);
  }

  /** @returns whether the source failed before */
  proposed(source: string, candidates: readonly Candidate[], notices: readonly SourceNotice[], nowMs: number): boolean {
    this.#notices.set(source, notices);
    // An empty set removes nothing: it is as likely a mistake as a cluster without control plane.
    if (candidates.length > 0) this.#proposals.set(source, candidates);
    const count = this.#proposals.get(source)?.length ?? 0;
    return this.#heard(source, candidates.length === 0 ? "empty" : "ok", count, nowMs);
  }

  /** @returns whether the source failed before */
  confirmed(source: string, nowMs: number): boolean {
    const state = this.#sources.get(source);
    if (state === undefined || state.state === "starting") return false;
    const word = state.state === "empty" ? "empty" : "ok";
    return this.#heard(source, word, state.candidates, nowMs);
  }

  /** @returns whether that is news: it worked before, or failed otherwise */
  failed(source: string, failure: SourceFailure): boolean {
    const state = this.#sources.get(source);
    if (state === undefined) return false;
    this.#sources.set(source, { ...state, state: "failing", failure });
    return state.failure?.problem !== failure.problem;
  }

  credentialRead(source: string, credential: SourceState["credential"]): void {
    const state = this.#sources.get(source);
    if (state === undefined) return;
    const { credential: _, ...rest } = state;
    this.#sources.set(source, credential === undefined ? rest : { ...rest, credential });
  }

  /** An address has become up. */
  passed(address: string): void {
    this.#passed.add(address);
  }

  /** Decides the targets anew. */
  update({ nowMs, healthOf }: Surroundings): Updated {
    const { endpoint, allowSpecialAddresses, conflict } = this.#config;
    const { discover } = endpoint;
    const { maxTargets } = discover;
    const { learned, notices, skipped, againInMs } = learn({
      written: endpoint.targets.flatMap(({ addresses }) => addresses),
      learned: this.#learned,
      sources: [...this.#sources.keys()],
      proposals: this.#proposals,
      mostCandidates: Math.max(MIN_CANDIDATES, CANDIDATES_PER_TARGET * maxTargets),
      port: endpoint.port,
      allowSpecialAddresses,
      forgetAfterMs: discover.forgetAfterMs,
      healthOf,
      passed: this.#passed,
      nowMs,
    });
    this.#passed = new Set();
    const set = targetSet({
      written: endpoint.targets,
      learned,
      maxTargets,
      skipped,
      position: endpoint.position,
      conflict,
      healthOf,
    });
    this.#now = set;
    // What is left out is proposed again, or is gone: only what serves is remembered, so that it has a bound.
    this.#learned = set.kept;
    const said = [...this.#notices.values()].flatMap((ofSource) => ofSource.slice(0, MAX_NOTICES));
    const all = [...this.#credentialNotices(nowMs), ...set.notices.slice(0, MAX_NOTICES), ...notices, ...said];
    const news = all.filter(({ key }) => !this.#told.has(key));
    this.#told = new Set(all.map(({ key }) => key));
    return { ...set, news, ...(againInMs === undefined ? {} : { againInMs }) };
  }

  #credentialNotices(nowMs: number): SourceNotice[] {
    return this.sources.flatMap(({ name, credential }) => {
      if (credential === undefined || nowMs < credential.warnFromMs) return [];
      const { endsAtMs } = credential;
      const when = `${nowMs < endsAtMs ? "ends" : "has ended"} at ${new Date(endsAtMs).toISOString()}`;
      const text = `the credential of ${name} ${when}: renew it (livezone kubeadm --discovery says how)`;
      return [{ key: `CREDENTIAL ${name} ${nowMs < endsAtMs} ${endsAtMs}`, text }];
    });
  }

  #heard(source: string, word: "ok" | "empty", candidates: number, nowMs: number): boolean {
    const state = this.#sources.get(source);
    if (state === undefined) return false;
    const { failure, ...rest } = state;
    this.#sources.set(source, { ...rest, state: word, heardAtMs: nowMs, candidates });
    return failure !== undefined;
  }
}
