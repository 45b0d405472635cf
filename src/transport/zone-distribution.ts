import type { CompiledZone, ZoneUpdate } from "../answers/answer.js";
import { packNodes } from "../answers/codec.js";
import type { ToWorker } from "./worker-messages.js";

/** Zones in one message: a few milliseconds of a thread's time, between which it answers. */
const ZONES_PER_MESSAGE = 100;

/** Takes a message for a thread. */
export type Post = (message: ToWorker) => void;

/** Brings zones and their changes to the threads. */
export class ZoneDistribution {
  /** What has changed in this turn of the event loop, by zone. */
  private readonly pending = new Map<string, ZoneUpdate>();

  /** @param postToAll sends a message to every thread */
  constructor(private readonly postToAll: Post) {}

  /** Replaces all zones of every thread. */
  load(zones: readonly CompiledZone[]): void {
    this.pending.clear();
    sendZones(this.postToAll, zones);
  }

  /** Replaces the answers that changed, at the end of this turn of the event loop: of a name that changed twice, once. */
  update(update: ZoneUpdate): void {
    if (this.pending.size === 0) queueMicrotask(() => this.sendPending());
    const before = this.pending.get(update.zone);
    this.pending.set(update.zone, before === undefined ? update : mergeUpdates(before, update));
  }

  private sendPending(): void {
    for (const { zone, serial, nodes } of this.pending.values()) {
      this.postToAll({ kind: "update", zone, serial, nodes: packNodes(nodes) });
    }
    this.pending.clear();
  }
}

/** Sends all zones to a thread, which answers from them once it has them all. */
export function sendZones(post: Post, zones: readonly CompiledZone[]): void {
  post({ kind: "begin" });
  for (let at = 0; at < zones.length; at += ZONES_PER_MESSAGE) {
    post({ kind: "zones", zones: zones.slice(at, at + ZONES_PER_MESSAGE) });
  }
  post({ kind: "commit" });
}

function mergeUpdates(before: ZoneUpdate, after: ZoneUpdate): ZoneUpdate {
  const nodes = new Map([...before.nodes, ...after.nodes].map((named) => [named.name, named]));
  return { ...after, nodes: [...nodes.values()] };
}
