import type { Clock } from "../lib/clock.js";
import type { Peer, SiblingSettings, SiblingTransport, Speaking } from "./host.js";
import { Lanes } from "./lanes.js";
import type { Hearing } from "./listener.js";
import { PROTOCOL, type Replied } from "./messages.js";
import type { PreSharedKey } from "./pre-shared-key.js";
import { Asked } from "./requests.js";
import type { SpeakerOptions } from "./speaker.js";

/** What the first connection to a sibling brings. */
type FirstConnection = Pick<SpeakerOptions, "onWant"> & {
  /** It is open: say everything. */
  onOpen(welcome: Extract<Replied, { t: "welcome" }>): void;
};

/** What a link is made from. */
export interface LinkOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly boot: string;
  /** Name of this server. */
  readonly own: string;
  keys(): readonly PreSharedKey[];
  readonly transport: Pick<SiblingTransport, "speaker">;
}

/** One sibling, and the connections to it and from it. */
export interface Link extends Peer {
  /** The first connection to it. */
  readonly speaker: Speaking;
  /** All connections to it, for what must arrive soon. */
  readonly lanes: Lanes;
  /** The first connection from it. */
  hearing?: Hearing;
  /** Its lanes, by their number. */
  readonly hearings: Map<number, Hearing>;
  /** What it has asked of late. */
  readonly asked: Asked;
  wasHeard: boolean;
  isOneself: boolean;
  differentBeats: number;
  /** What it was told last of each endpoint on its present connection, as JSON. */
  readonly told: Map<string, string>;
}

/** What a lane tells nobody: the first connection says it. */
const QUIET: Pick<SpeakerOptions, "onOpen" | "onWant" | "onClosed"> = {
  onOpen: () => {},
  onWant: () => {},
  onClosed: () => {},
};

/** A link that has no connection yet. @param first is told what its first connection brings */
export function newLink(
  { clock, random, boot, own, keys, transport }: LinkOptions,
  peer: SiblingSettings["peers"][number],
  first: (link: Link) => FirstConnection,
): Link {
  const { name, address, port } = peer;
  const hello = { t: "hello", version: PROTOCOL, name: own, boot } as const;
  let lastId = 0;
  const nextId = (): number => {
    lastId += 1;
    return lastId;
  };
  const common = { clock, random, peer, keys, nextId };
  const speaker = transport.speaker({
    ...common,
    hello: () => hello,
    onOpen: (welcome) => {
      delete link.trouble;
      link.isOneself = welcome.boot === boot;
      if (link.isOneself) link.trouble = "its address leads to this server itself";
      link.lanes.open(link.isOneself ? 0 : (welcome.lanes ?? 0));
      first(link).onOpen(welcome);
    },
    onWant: (what) => first(link).onWant(what),
    onClosed: (why) => {
      link.trouble = why;
    },
  });
  const newLane = (lane: number): Speaking =>
    transport.speaker({ ...common, ...QUIET, hello: () => ({ ...hello, lane }) });
  const link: Link = {
    name,
    at: { address, port },
    speaker,
    lanes: new Lanes(speaker, nextId, newLane),
    hearings: new Map(),
    asked: new Asked(),
    condition: "unheard",
    sinceMs: clock.wallMs(),
    wasHeard: false,
    isOneself: false,
    differentBeats: 0,
    told: new Map(),
  };
  return link;
}

/** Other keys hold from now on. */
export function keysChanged({ speaker, lanes }: Link): void {
  speaker.keysChanged();
  lanes.keysChanged();
}

/** Speaks no more. */
export function stopSpeaking({ speaker, lanes }: Link): void {
  speaker.stop();
  lanes.stop();
}

/** Hears no more. */
export function closeHearings({ hearing, hearings }: Link): void {
  hearing?.close();
  for (const lane of hearings.values()) lane.close();
}
