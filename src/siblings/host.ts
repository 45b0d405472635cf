import type { Clock } from "../lib/clock.js";
import type { SocketAddress } from "../lib/listening.js";
import type { Listener, ListenerOptions } from "./listener.js";
import type { Ask, Beat, Reply, SharedOverride, SiblingEndpoint, SiblingSerial, SiblingZone } from "./messages.js";
import type { Heard, PeerCondition } from "./peer-state.js";
import type { Speaker, SpeakerOptions } from "./speaker.js";

/** Name, place and secrets, as the configuration has them. */
export interface SiblingSettings {
  readonly name: string;
  readonly listen: SocketAddress;
  readonly peers: readonly (SocketAddress & { readonly name: string })[];
  /** 32 octets each; the first is used, all are accepted. */
  readonly secrets: readonly Uint8Array[];
}

/** What this server says of itself, and what it does with what siblings say. */
export interface SiblingHost {
  self(): Pick<Beat, "isolated" | "late" | "starting" | "sight" | "overrides">;
  zones(): readonly SiblingZone[];
  serials(): readonly SiblingSerial[];
  onSerials(peer: string, serials: readonly SiblingSerial[]): void;
  /** Every endpoint. */
  endpoints(): Iterable<SiblingEndpoint>;
  endpoint(fqdn: string): SiblingEndpoint | undefined;
  /** Empty where overrides are not shared. */
  overrides(): readonly SharedOverride[];
  /** A sibling says something else of these addresses than before. */
  onHint(peer: string, fqdn: string, addresses: readonly string[]): void;
  /** A sibling became fresh or is so no more, or what it sees has changed. */
  onViews(fqdns: readonly string[] | "all"): void;
  onCondition(peer: string, condition: PeerCondition, before: PeerCondition): void;
  /** Resolves when the entries are kept; rejects if they cannot be. @param aheadMs how far the sibling's wall clock is ahead of ours */
  take(peer: string, entries: readonly SharedOverride[], aheadMs: number): Promise<void>;
  /** What a sibling says of overrides cannot be kept, or, without `error`, can be again: told when that changes. */
  onKept(peer: string, error?: unknown): void;
  /** May this target be taken out? @returns undefined if it may: its place is then kept free for a moment */
  judge(peer: string, ask: Ask): Reply["refusal"];
  release(peer: string, name: { readonly endpoint: string; readonly target: string }): void;
  safe(name: { readonly endpoint: string; readonly target: string }): Reply;
}

/** What the siblings of a server are made of. */
export interface SiblingsOptions {
  readonly clock: Clock;
  readonly random: () => number;
  /** Of this process; random. */
  readonly boot: string;
  readonly settings: SiblingSettings;
  readonly host: SiblingHost;
  /** Default: TLS over TCP. */
  readonly transport?: SiblingTransport;
}

/** A connection to a sibling on which this server speaks. */
export type Speaking = Pick<Speaker, "isOpen" | "start" | "stop" | "say" | "sayIfQuick" | "ask" | "keysChanged">;

/** What carries messages between siblings. */
export interface SiblingTransport {
  listener(options: ListenerOptions): Pick<Listener, "listen" | "stop" | "keysChanged">;
  speaker(options: SpeakerOptions): Speaking;
}

/** One sibling. */
export interface Peer {
  readonly name: string;
  readonly at: SocketAddress;
  /** What it says; absent while it is not connected. */
  heard?: Heard;
  condition: PeerCondition;
  /** Wall clock, milliseconds since 1970, of the last change of `condition`. */
  sinceMs: number;
  /** Why this server cannot speak to it; absent while it can. */
  trouble?: string;
  /** Whether it could not keep the overrides that it was told last. */
  keepsNothing?: boolean;
  /** Whether the overrides that it told last could not be kept here. */
  isNotKept?: boolean;
}
