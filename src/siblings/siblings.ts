import type { Timer } from "../lib/clock.js";
import type { SocketAddress } from "../lib/listening.js";
import type { Peer, SiblingSettings, SiblingsOptions, SiblingTransport, Speaking } from "./host.js";
import { LANES } from "./lanes.js";
import { closeHearings, keysChanged, type Link, newLink, stopSpeaking } from "./link.js";
import { type Hearer, type HearerOf, type Hearing, Listener } from "./listener.js";
import { type Ask, type Beat, pack, type Reply, type SharedOverride, type Spoken } from "./messages.js";
import { changedAddresses, conditionOf, type Heard, newHeard, noteBeat } from "./peer-state.js";
import { type PreSharedKey, preSharedKey } from "./pre-shared-key.js";
import { hearRequest } from "./requests.js";
import { Speaker } from "./speaker.js";
import { notToldYet, told } from "./told.js";

/** Time between two beats, milliseconds. */
const BEAT_MS = 500;

/** Time between two looks whether a sibling is still fresh, milliseconds. */
const LOOK_MS = 100;

/** Time for which a difference in overrides may last before all are asked for, in beats: some are on their way. */
const DIFFERENT_BEATS = 3;

/** Time in which a sibling must say whether a target may be taken out, milliseconds. Where no packet is lost it takes 1. */
const ASK_WITHIN_MS = 2_500;

/** This server among its siblings: a connection to each, and one from each. */
export class Siblings implements Hearer {
  readonly #options: SiblingsOptions;
  readonly #transport: SiblingTransport;
  readonly #listener: ReturnType<SiblingTransport["listener"]>;
  readonly #links = new Map<string, Link>();
  #keys: readonly PreSharedKey[] = [];
  #timers: Timer[] = [];
  #seq = 0;
  #isStopped = false;
  readonly #changed = new Set<string>();
  #flush: Timer | undefined;

  constructor(options: SiblingsOptions) {
    this.#options = options;
    this.#transport = options.transport ?? TLS;
    this.#listener = this.#transport.listener({
      clock: options.clock,
      keys: () => this.#keys,
      isExpected: (address) => [...this.#links.values()].some(({ at }) => at.address === address),
      hearer: this,
    });
    this.configure(options.settings);
  }

  get name(): string {
    return this.#options.settings.name;
  }

  /** In the order of the configuration. */
  peers(): readonly Peer[] {
    return [...this.#links.values()];
  }

  /** Those that count now. */
  fresh(): readonly Peer[] {
    return this.peers().filter(({ condition }) => condition === "fresh");
  }

  /** Other peers and secrets from now on; name and place stay. */
  configure({ peers, secrets }: Pick<SiblingSettings, "peers" | "secrets">): void {
    this.#keys = secrets.map(preSharedKey);
    this.#listener.keysChanged();
    for (const link of this.#links.values()) keysChanged(link);
    const stay = new Map(peers.map((peer) => [peer.name, peer]));
    for (const link of [...this.#links.values()]) {
      const peer = stay.get(link.name);
      if (peer?.address !== link.at.address || peer.port !== link.at.port) this.#drop(link);
    }
    for (const peer of peers) {
      if (this.#links.has(peer.name)) continue;
      const link = this.#newLink(peer);
      this.#links.set(peer.name, link);
      if (this.#timers.length > 0) link.speaker.start();
    }
  }

  /** Begins to listen and to speak. @returns where it listens. @throws UserError */
  async start(): Promise<SocketAddress> {
    const at = await this.#listener.listen(this.#options.settings.listen);
    for (const { speaker } of this.#links.values()) speaker.start();
    this.#every(BEAT_MS, () => this.#beat());
    this.#every(LOOK_MS, () => this.#look());
    return at;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#flush?.cancel();
    for (const timer of this.#timers) timer.cancel();
    for (const link of this.#links.values()) stopSpeaking(link);
    await this.#listener.stop();
  }

  /** What is to be told of an endpoint may have changed: told soon, if it has. */
  changed(fqdn: string): void {
    this.#changed.add(fqdn);
    this.#flush ??= this.#options.clock.after(0, () => this.#tellChanged());
  }

  /** Flags may have changed: says so at once. */
  selfChanged(): void {
    if (!this.#isStopped) this.#beat();
  }

  zonesChanged(): void {
    this.say({ t: "zones", zones: this.#options.host.zones() });
  }

  /** Other endpoints are served: what was said of them before was not kept. */
  servedChanged(): void {
    for (const { hearing } of this.#links.values()) hearing?.reply({ t: "want", what: "endpoints" });
    for (const link of this.#links.values()) for (const fqdn of link.told.keys()) this.changed(fqdn);
    for (const { endpoint } of this.#options.host.endpoints()) this.changed(endpoint);
    this.zonesChanged();
  }

  /**
   * Tells siblings of overrides, and resolves with the names of those that have kept them.
   *
   * @param except who told us
   */
  async spread(entries: readonly SharedOverride[], except?: string): Promise<ReadonlySet<string>> {
    const links = [...this.#links.values()].filter(({ name, speaker }) => name !== except && speaker.isOpen);
    const kept = await Promise.all(
      links.map(async (link) => ((await this.#give(link, entries, link.lanes)) ? [link.name] : [])),
    );
    return new Set(kept.flat());
  }

  /** Asks every fresh sibling whether a target may be taken out. @returns the refusals, and who did not reply in time */
  async ask(ask: Ask): Promise<{
    readonly refused: readonly ({ readonly peer: string } & NonNullable<Reply["refusal"]>)[];
    readonly silent: readonly string[];
  }> {
    const links = [...this.#links.values()].filter(({ condition }) => condition === "fresh");
    const replies = await Promise.all(links.map((link) => link.lanes.ask({ t: "ask", ...ask }, ASK_WITHIN_MS)));
    return {
      refused: replies.flatMap((reply, index) =>
        reply?.refusal === undefined ? [] : [{ peer: links[index]?.name ?? "", ...reply.refusal }],
      ),
      silent: replies.flatMap((reply, index) => (reply === undefined ? [links[index]?.name ?? ""] : [])),
    };
  }

  /** What was asked for does not happen. */
  release({ endpoint, target }: Ask): void {
    this.say({ t: "release", endpoint, target });
  }

  /** When each sibling can do without a target; undefined for one that says nothing. */
  async safe(name: {
    readonly endpoint: string;
    readonly target: string;
  }): Promise<readonly { readonly peer: string; readonly reply: Reply | undefined }[]> {
    return Promise.all(
      [...this.#links.values()].map(async (link) => ({
        peer: link.name,
        reply: await link.lanes.ask({ t: "safe", ...name }, ASK_WITHIN_MS),
      })),
    );
  }

  admit(hello: Extract<Spoken, { t: "hello" }>, hearing: Hearing): HearerOf | undefined {
    const link = this.#links.get(hello.name.toLowerCase());
    hearing.reply({ t: "welcome", name: this.name, boot: this.#options.boot, lanes: LANES });
    if (link === undefined || hello.boot === this.#options.boot) return undefined;
    link.asked.from(hello.boot);
    if (hello.lane !== undefined) return this.#admitLane(link, hello.lane, hearing);
    link.hearing?.close();
    link.hearing = hearing;
    const heard = newHeard(hello.boot, this.#options.clock.monotonicMs());
    link.heard = heard;
    return {
      hear: (message) => {
        if (link.hearing === hearing) this.#hear(link, heard, message);
      },
      closed: () => {
        if (link.hearing !== hearing) return;
        delete link.hearing;
        delete link.heard;
        this.#judge(link);
      },
    };
  }

  #admitLane(link: Link, lane: number, hearing: Hearing): HearerOf {
    const { clock, host } = this.#options;
    link.hearings.get(lane)?.close();
    link.hearings.set(lane, hearing);
    return {
      hear: (message) => {
        if (link.hearings.get(lane) === hearing)
          hearRequest({ clock, host, peer: link, asked: link.asked, hearing }, message);
      },
      closed: () => {
        if (link.hearings.get(lane) === hearing) link.hearings.delete(lane);
      },
    };
  }

  #newLink(peer: SiblingSettings["peers"][number]): Link {
    const { clock, random, boot, host } = this.#options;
    const own = { clock, random, boot, own: this.name, keys: () => this.#keys, transport: this.#transport };
    return newLink(own, peer, (link) => ({
      onOpen: () => this.#opened(link),
      onWant: (what) => (what === "endpoints" ? this.#tellEndpoints(link) : void this.#give(link, host.overrides())),
    }));
  }

  #drop(link: Link): void {
    stopSpeaking(link);
    this.#links.delete(link.name);
    closeHearings(link);
    this.#options.host.onViews("all");
  }

  /** A sibling listens: says everything. */
  #opened(link: Link): void {
    const { host } = this.#options;
    link.speaker.say(this.#ownBeat());
    link.speaker.say({ t: "zones", zones: host.zones() });
    for (const serials of pack(host.serials())) link.speaker.say({ t: "serials", serials });
    this.#tellEndpoints(link);
    void this.#give(link, host.overrides());
  }

  #tellEndpoints(link: Link): void {
    const all = [...this.#options.host.endpoints()];
    link.told.clear();
    notToldYet(
      link.told,
      all.map((endpoint) => told(endpoint.endpoint, endpoint)),
    );
    for (const endpoints of pack(all)) link.speaker.say({ t: "endpoints", endpoints, gone: [] });
  }

  #tellChanged(): void {
    this.#flush = undefined;
    const changed = [...this.#changed].map((fqdn) => told(fqdn, this.#options.host.endpoint(fqdn)));
    this.#changed.clear();
    for (const { speaker, told: known } of this.#links.values()) {
      if (!speaker.isOpen) continue;
      const { endpoints, gone } = notToldYet(known, changed);
      for (const part of pack(gone)) speaker.say({ t: "endpoints", endpoints: [], gone: part });
      for (const part of pack(endpoints)) speaker.say({ t: "endpoints", endpoints: part, gone: [] });
    }
  }

  /** Tells one sibling of overrides. @returns whether it has kept them */
  async #give(
    link: Link,
    entries: readonly SharedOverride[],
    by: Pick<Speaking, "ask"> = link.speaker,
  ): Promise<boolean> {
    const wallMs = this.#options.clock.wallMs();
    const replies = await Promise.all(
      pack(entries).map((part) => by.ask({ t: "overrides", wallMs, entries: part }, ASK_WITHIN_MS)),
    );
    if (replies.some((reply) => reply?.refusal !== undefined)) link.keepsNothing = true;
    else if (!replies.includes(undefined)) delete link.keepsNothing;
    return replies.every((reply) => reply !== undefined && reply.refusal === undefined);
  }

  /** To every sibling. */
  say(message: object): void {
    for (const { speaker } of this.#links.values()) speaker.say(message);
  }

  #ownBeat(): Beat {
    const { clock, host } = this.#options;
    this.#seq += 1;
    return { t: "beat", seq: this.#seq, wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs(), ...host.self() };
  }

  #beat(): void {
    const beat = this.#ownBeat();
    for (const { speaker } of this.#links.values()) speaker.sayIfQuick(beat);
  }

  #look(): void {
    for (const link of this.#links.values()) this.#judge(link);
  }

  /** Looks whether a sibling counts, and says so if that has changed. */
  #judge(link: Link): void {
    const { clock, host } = this.#options;
    const condition = link.isOneself ? "oneself" : conditionOf(link.heard, link.wasHeard, clock.monotonicMs());
    const before = link.condition;
    if (condition === before || this.#isStopped) return;
    link.condition = condition;
    link.sinceMs = clock.wallMs();
    host.onCondition(link.name, condition, before);
    if (condition === "fresh" || before === "fresh") host.onViews("all");
  }

  #hear(link: Link, heard: Heard, message: Spoken): void {
    const { clock, host } = this.#options;
    if (link.hearing && hearRequest({ clock, host, peer: link, asked: link.asked, hearing: link.hearing }, message))
      return;
    switch (message.t) {
      case "beat":
        this.#hearBeat(link, heard, message);
        break;
      case "zones":
        heard.zones = message.zones;
        break;
      case "serials":
        host.onSerials(link.name, message.serials);
        break;
      case "endpoints":
        this.#hearEndpoints(link, heard, message);
        break;
    }
  }

  #hearBeat(link: Link, heard: Heard, beat: Beat): void {
    const { clock, host } = this.#options;
    const sightBefore = heard.beat?.sight;
    noteBeat(heard, beat, { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() });
    link.wasHeard = true;
    this.#judge(link);
    if (sightBefore !== beat.sight && link.condition === "fresh") host.onViews("all");
    link.differentBeats = beat.overrides === host.self().overrides ? 0 : link.differentBeats + 1;
    if (link.differentBeats < DIFFERENT_BEATS) return;
    link.differentBeats = 0;
    link.hearing?.reply({ t: "want", what: "overrides" });
  }

  #hearEndpoints(link: Link, heard: Heard, message: Extract<Spoken, { t: "endpoints" }>): void {
    const { host } = this.#options;
    const fqdns = [...message.gone];
    for (const fqdn of message.gone) heard.endpoints.delete(fqdn);
    for (const endpoint of message.endpoints) {
      // What is not served here is of no use, and would let a sibling fill our memory.
      if (host.endpoint(endpoint.endpoint) === undefined) continue;
      const before = heard.endpoints.get(endpoint.endpoint);
      heard.endpoints.set(endpoint.endpoint, endpoint);
      fqdns.push(endpoint.endpoint);
      const addresses = changedAddresses(before, endpoint);
      if (addresses.length > 0) host.onHint(link.name, endpoint.endpoint, addresses);
    }
    if (link.condition === "fresh" && fqdns.length > 0) host.onViews(fqdns);
  }

  #every(periodMs: number, task: () => void): void {
    const index = this.#timers.length;
    const again = (): void => {
      if (this.#isStopped) return;
      this.#timers[index] = this.#options.clock.after(periodMs, again);
      task();
    };
    this.#timers.push(this.#options.clock.after(periodMs, again));
  }
}

const TLS: SiblingTransport = {
  listener: (options) => new Listener(options),
  speaker: (options) => new Speaker(options),
};
