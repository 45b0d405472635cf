import type { KubernetesSourceConfig } from "../../config/discovery.js";
import { type Clock, pause, type Timer } from "../../lib/clock.js";
import { messageOf } from "../../lib/errors.js";
import type { Source, SourceListener } from "../source.js";
import { type ApiFailure, type ApiRequest, type Dial, getJson, getStream, isFailure } from "./api.js";
import { backoffMs } from "./backoff.js";
import { type Credential, CredentialError } from "./credential.js";
import { type DialSurroundings, dialsFor } from "./dials.js";
import { BoundedLines } from "./lines.js";
import { KnownObjects } from "./objects.js";
import { resourceOf } from "./resources.js";

/** Objects that are asked for at a time: a Node takes up to 50 KiB, and parsing must not hold up probes. */
const PAGE_OBJECTS = 100;

/** Largest page that is read, octets. */
const MAX_PAGE_OCTETS = 32 * 1024 * 1024;

/** Longest line of a watch, octets: etcd takes objects of up to 1.5 MiB. */
const MAX_LINE_OCTETS = 4 * 1024 * 1024;

/** A watch without event or bookmark for so long, milliseconds, is dead: bookmarks come about every minute. */
const SILENCE_MS = 90_000;

/** For how long a watch is asked for, seconds; the server may end it sooner. */
const WATCH_SECONDS = 300;

/** Sets that follow each other faster than this, milliseconds, are reported as one. */
const REPORT_EVERY_MS = 100;

/** A watch that the server ends sooner than this, milliseconds, counts as a failure. */
const SHORT_WATCH_MS = 1_000;

/** What the source needs. */
export interface KubernetesParts {
  readonly config: KubernetesSourceConfig;
  readonly clock: Clock;
  /** 0 (included) to 1 (not included). */
  readonly random: () => number;
  /** Where apiservers may be now. */
  surroundings(): Omit<DialSurroundings, "lastGood" | "avoid">;
  /** Asked before every request, so that files that have changed count. @throws CredentialError */
  readCredential(): Promise<Credential>;
}

/** What came of one step: a list, or a watch until its end. */
type Step = "continue" | ApiFailure;

/** Candidates from a cluster's API: lists, then watches, for as long as it runs. */
export class KubernetesSource implements Source {
  readonly #parts: KubernetesParts;
  readonly #objects: KnownObjects;
  readonly #query: string;
  readonly #path: string;
  #listener: SourceListener | undefined;
  #running: ApiRequest<unknown> | undefined;
  #reportTimer: Timer | undefined;
  #needsList = true;
  /** When the last list was complete, on the monotonic clock. */
  #listedAtMs = Number.NEGATIVE_INFINITY;
  /** A host whose watch fell silent: it is asked last. */
  #silent: string | undefined;
  /** Where the last list or watch began well. */
  #lastGood: string | undefined;
  #failures = 0;

  constructor(parts: KubernetesParts) {
    const { path, selector } = resourceOf(parts.config);
    this.#parts = parts;
    this.#objects = new KnownObjects(resourceOf(parts.config));
    this.#path = path;
    this.#query = `labelSelector=${encodeURIComponent(selector)}`;
  }

  start(listener: SourceListener): void {
    this.#listener = listener;
    void this.#run();
  }

  stop(): void {
    this.#listener = undefined;
    this.#reportTimer?.cancel();
    this.#running?.cancel();
  }

  async #run(): Promise<void> {
    const { clock, random } = this.#parts;
    while (this.#listener !== undefined) {
      const failure = await this.#step();
      if (failure === undefined || this.#listener === undefined) continue;
      this.#failures += 1;
      const needsOperator = failure.isCredential === true || failure.status === 401 || failure.status === 403;
      // A watch that ends is an ordinary thing; one that cannot be begun anew is not.
      if (needsOperator || this.#failures > 1 || this.#needsList) {
        this.#listener.failed({ problem: failure.problem, needsOperator });
      }
      await pause(clock, backoffMs({ ...failure, failures: this.#failures }, random()));
    }
  }

  /** Lists or watches once. @returns why a pause is due; undefined = none is */
  async #step(): Promise<(ApiFailure & { readonly isCredential?: true }) | undefined> {
    let credential: Credential;
    try {
      credential = await this.#parts.readCredential();
    } catch (error) {
      const isCredential = error instanceof CredentialError;
      return { problem: messageOf(error), ...(isCredential ? { isCredential: true as const } : {}) };
    }
    this.#listener?.credentialRead(credential.validity);
    const dials = dialsFor(credential, {
      ...this.#parts.surroundings(),
      lastGood: this.#lastGood,
      avoid: this.#silent,
    });
    let last: ApiFailure = { problem: "no address of an apiserver is known to ask" };
    for (const dial of dials) {
      if (this.#listener === undefined) return undefined;
      const step = this.#needsList ? await this.#list(dial, credential) : await this.#watch(dial, credential);
      if (step === "continue") return undefined;
      last = step;
      // Whoever has replied decides; another apiserver of the cluster would say the same.
      if (step.status !== undefined) return step;
      if (this.#lastGood === dial.host) this.#lastGood = undefined;
    }
    return last;
  }

  async #list(dial: Dial, credential: Credential): Promise<Step> {
    const { clock } = this.#parts;
    this.#objects.beginList();
    let next: string | undefined;
    let limit = PAGE_OBJECTS;
    do {
      const more = next === undefined ? "" : `&continue=${encodeURIComponent(next)}`;
      const path = `${this.#path}?${this.#query}&limit=${limit}${more}`;
      const page = await this.#await(getJson({ clock, dial, credential, path }, MAX_PAGE_OCTETS));
      if (isFailure(page)) {
        if (page.isTooLarge === true && limit > 1) {
          limit = Math.max(1, Math.floor(limit / 10));
          continue;
        }
        // The list took too long, and its state is gone: from the beginning, after a pause.
        return page;
      }
      const taken = this.#objects.takePage(page.json);
      if ("problem" in taken) return taken;
      next = taken.next;
      if (next === undefined) break;
    } while (this.#listener !== undefined);
    this.#needsList = false;
    this.#listedAtMs = clock.monotonicMs();
    this.#lastGood = dial.host;
    this.#report();
    return "continue";
  }

  async #watch(dial: Dial, credential: Credential): Promise<Step> {
    const { clock, random } = this.#parts;
    let begunMs: number | undefined;
    let verdict: Step | undefined;
    let silence: Timer | undefined;
    const end = (step: Step): void => {
      verdict ??= step;
      stream.cancel();
    };
    const heard = (): void => {
      silence?.cancel();
      silence = clock.after(SILENCE_MS, () => {
        this.#silent = dial.host;
        end(this.#listAnew("the watch fell silent"));
      });
    };
    const onLine = (line: string): void => {
      heard();
      this.#failures = 0;
      const step = this.#takeLine(line);
      if (step !== undefined) end(step);
    };
    const lines = new BoundedLines(MAX_LINE_OCTETS, onLine, () => this.#tellTooLong());
    const seconds = Math.floor(WATCH_SECONDS * (1 + 0.2 * random()));
    const from = encodeURIComponent(this.#objects.resourceVersion);
    const query = `watch=1&allowWatchBookmarks=true&${this.#query}&timeoutSeconds=${seconds}&resourceVersion=${from}`;
    const stream = getStream(
      { clock, dial, credential, path: `${this.#path}?${query}` },
      {
        onHead: () => {
          begunMs = clock.monotonicMs();
          this.#lastGood = dial.host;
          this.#listener?.confirmed();
          heard();
        },
        onChunk: (chunk) => lines.take(chunk),
      },
    );
    const outcome = await this.#await(stream);
    silence?.cancel();
    const wasShort = begunMs === undefined || clock.monotonicMs() - begunMs < SHORT_WATCH_MS;
    if (!wasShort) this.#failures = 0;
    if (verdict !== undefined) return verdict;
    if (!isFailure(outcome)) return wasShort ? { problem: "the server ends watches at once" } : "continue";
    return outcome.status === 410 ? this.#listAnew(outcome.problem) : outcome;
  }

  /** A server that wants a list after every list must not get them without a pause. */
  #listAnew(problem: string): Step {
    this.#needsList = true;
    const isEarly = this.#parts.clock.monotonicMs() - this.#listedAtMs < SHORT_WATCH_MS;
    return isEarly ? { problem } : "continue";
  }

  /** @returns what ends the watch */
  #takeLine(line: string): Step | undefined {
    const event = this.#objects.takeLine(line);
    switch (event.kind) {
      case "changed":
        this.#reportSoon();
        return undefined;
      case "same":
        this.#listener?.confirmed();
        return undefined;
      case "gone":
        return this.#listAnew("the server cannot go on from the last list");
      case "error":
        return { ...event };
      case "nonsense":
        // What it would have said is lost.
        this.#needsList = true;
        return { problem: "a line of the watch is no JSON" };
    }
  }

  #tellTooLong(): void {
    const { kind } = this.#objects.tell(
      "LINE",
      `a line of the watch is longer than ${MAX_LINE_OCTETS / 1024 / 1024} MiB: it is left out`,
    );
    if (kind === "changed") this.#reportSoon();
  }

  #reportSoon(): void {
    this.#reportTimer ??= this.#parts.clock.after(REPORT_EVERY_MS, () => this.#report());
  }

  #report(): void {
    this.#reportTimer?.cancel();
    this.#reportTimer = undefined;
    this.#listener?.proposed(this.#objects.candidates(), this.#objects.notices());
  }

  async #await<T>(request: ApiRequest<T>): Promise<T | ApiFailure> {
    this.#running = request;
    return request.done;
  }
}
