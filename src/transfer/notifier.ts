import type { Clock, Timer } from "../lib/clock.js";
import type { SocketAddress } from "../lib/listening.js";
import type { Name } from "../wire/name.js";
import type { TsigKey } from "../wire/tsig.js";
import type { ZoneChange } from "../zone/live-zone.js";
import { isSerialNewer } from "../zone/serial.js";
import { presentSoa, type ZoneSource } from "./journal.js";
import {
  type MessageSigner,
  notifyMessage,
  type OutgoingMessage,
  readSecondaryReply,
  type SecondaryReply,
  soaQuery,
} from "./notify-messages.js";
import { NotifySchedule } from "./notify-schedule.js";
import type { FinishedTransfer } from "./service.js";

/** A server that is told of the changes of a zone. */
export interface Secondary extends SocketAddress {
  /** Name of the key that messages are signed with; absent = none. */
  readonly key?: Name;
}

/** Who is told of the changes of a zone. */
export interface Notified {
  readonly secondaries: readonly Secondary[];
  /** Milliseconds between two NOTIFYs to one of them, at least. */
  readonly minIntervalMs: number;
  /** They may go without the zone. Default false. */
  readonly isOptional?: boolean;
}

/** How the secondaries of a zone are told. */
type Manner = Omit<Notified, "secondaries">;

const NOBODY: Notified = { secondaries: [], minIntervalMs: 0 };

/** What keeps a secondary from answering as the primary does. */
export type SecondaryTrouble =
  /** It has an older serial. */
  | "behind"
  /** It answers no query. */
  | "silent"
  /** It answers, but does not have the zone. */
  | "lame";

/** What is known of a secondary. Times: wall clock, milliseconds since 1970. */
export interface SecondaryState {
  readonly zone: Name;
  readonly secondary: Secondary;
  /** When it was notified last; absent: not yet. */
  readonly notifiedMs?: number;
  /** When it answered a NOTIFY last, and how. */
  readonly acknowledged?: { readonly atMs: number; readonly rcode: string };
  /** When it told its serial last. */
  readonly checked?: { readonly atMs: number; readonly serial: number };
  /** Why it does not answer as the primary does; absent as far as is known it does. */
  readonly trouble?: SecondaryTrouble;
  /** Milliseconds since the first change that it is not known to have; 0 if it has all. */
  readonly lagMs: number;
}

/** A secondary in trouble for this long is worth an alarm, milliseconds. */
const TROUBLE_AFTER_MS = 5_000;

/** Milliseconds between the first NOTIFYs of two zones at the start, so that a secondary with many is not flooded. */
const START_SPREAD_MS = 2;

/** Times of the changes of a zone that are kept to tell how far a secondary is behind. */
const KEPT_CHANGES = 256;

export interface NotifierOptions {
  readonly clock: Clock;
  /** 0 (included) to 1 (not included). */
  readonly random: () => number;
  /** Sends a message, and gives what comes back, or undefined. */
  send(to: SocketAddress, message: Uint8Array, take: (octets: Uint8Array | undefined) => void): void;
  keyOf(name: Name): TsigKey | undefined;
  /** Whether another primary tells the secondaries of a zone. Absent: never. */
  isQuiet?(zone: Name): boolean;
  /** The trouble of a secondary has lasted for {@link TROUBLE_AFTER_MS}, or is over. */
  onTrouble(state: SecondaryState, isInTrouble: boolean): void;
}

/** A zone whose changes are told. */
interface NotifiedZone {
  readonly source: ZoneSource;
  /** The serials of the last changes and when they came to be, monotonic; oldest first. */
  readonly changes: { readonly serial: number; readonly atMs: number }[];
  /** By address, port and key. */
  followers: Map<string, Follower>;
}

/** Tells secondaries of changes, and makes sure that they follow (RFC 1996). */
export class Notifier {
  private readonly zones = new Map<Name, NotifiedZone>();
  private notified: ReadonlyMap<Name, Notified> = new Map();
  private isStarted = false;

  constructor(private readonly options: NotifierOptions) {}

  addZone(source: ZoneSource): void {
    this.zones.set(source.zone.name, { source, changes: [], followers: new Map() });
  }

  removeZone(name: Name): void {
    for (const follower of this.zones.get(name)?.followers.values() ?? []) follower.stop();
    this.zones.delete(name);
  }

  /** Takes the secondaries of each zone; those that stay are not notified anew. */
  configure(notified: ReadonlyMap<Name, Notified>): void {
    this.notified = notified;
    if (this.isStarted) this.follow();
  }

  /** Begins to send: queries are answered from now on. */
  start(): void {
    this.isStarted = true;
    this.follow();
  }

  stop(): void {
    this.isStarted = false;
    for (const name of [...this.zones.keys()]) this.removeZone(name);
  }

  /** Takes note of a change that has happened. */
  change({ zone: name, serial }: ZoneChange): void {
    const zone = this.zones.get(name);
    if (zone === undefined || zone.followers.size === 0) return;
    if (this.options.isQuiet?.(name) === true) {
      for (const follower of zone.followers.values()) follower.rest();
      return;
    }
    zone.changes.push({ serial, atMs: this.options.clock.monotonicMs() });
    if (zone.changes.length > KEPT_CHANGES) zone.changes.shift();
    for (const follower of zone.followers.values()) follower.changed();
  }

  /**
   * Takes note of a transfer that has ended. The secondary is told of nothing else until it answers what it has taken. Of several
   * at one address nobody knows which it was.
   */
  transferred({ zone: name, client, serial, isComplete }: FinishedTransfer): void {
    const all = [...(this.zones.get(name)?.followers.values() ?? [])];
    const [follower, another] = all.filter(({ address }) => address === client);
    if (isComplete && another === undefined) follower?.transferred(serial);
  }

  states(): SecondaryState[] {
    return [...this.zones.values()].flatMap(({ followers }) => [...followers.values()].map((one) => one.state()));
  }

  private follow(): void {
    let delayMs = 0;
    for (const [name, zone] of this.zones) {
      const { secondaries, ...how } = this.notified.get(name) ?? NOBODY;
      const before = zone.followers;
      zone.followers = new Map();
      for (const secondary of secondaries) {
        const key = `${secondary.address} ${secondary.port} ${secondary.key ?? ""}`;
        const known = before.get(key);
        before.delete(key);
        known?.adapt(how);
        zone.followers.set(key, known ?? this.begin(zone, secondary, how, delayMs));
      }
      for (const gone of before.values()) gone.stop();
      delayMs += START_SPREAD_MS;
    }
  }

  private begin(zone: NotifiedZone, secondary: Secondary, how: Manner, delayMs: number): Follower {
    const follower = new Follower(this.options, zone, secondary, how);
    follower.begin(delayMs);
    return follower;
  }
}

/** One secondary of one zone. */
class Follower {
  private readonly schedule: NotifySchedule;
  private timer: Timer | undefined;
  private isStopped = false;
  private notifiedMs: number | undefined;
  private acknowledged: SecondaryState["acknowledged"];
  private checked: SecondaryState["checked"];
  private trouble: SecondaryTrouble | undefined;
  /** Of the last transfer. */
  private transferredSerial: number | undefined;
  /** Monotonic; since when the trouble lasts, or the change is missing. */
  private sinceMs: number | undefined;
  private isReported = false;

  constructor(
    private readonly options: NotifierOptions,
    private readonly zone: NotifiedZone,
    private readonly secondary: Secondary,
    private how: Manner,
  ) {
    this.schedule = new NotifySchedule(how.minIntervalMs);
  }

  get address(): string {
    return this.secondary.address;
  }

  begin(delayMs: number): void {
    this.timer = this.options.clock.after(delayMs, () => this.changed());
  }

  adapt(how: Manner): void {
    this.how = how;
    this.schedule.setMinInterval(how.minIntervalMs);
  }

  stop(): void {
    this.isStopped = true;
    this.timer?.cancel();
  }

  /** Sends nothing until the next change: another primary does. */
  rest(): void {
    this.timer?.cancel();
    this.sinceMs = undefined;
    this.trouble = undefined;
  }

  changed(): void {
    const nowMs = this.options.clock.monotonicMs();
    this.sinceMs ??= nowMs;
    this.schedule.changed(nowMs);
    this.act();
  }

  transferred(serial: number): void {
    this.transferredSerial = serial;
    this.schedule.transferred(this.options.clock.monotonicMs());
    this.act();
  }

  state(): SecondaryState {
    const { zone, secondary, notifiedMs, acknowledged, checked, trouble, sinceMs } = this;
    return {
      zone: zone.source.zone.name,
      secondary,
      ...(notifiedMs === undefined ? {} : { notifiedMs }),
      ...(acknowledged === undefined ? {} : { acknowledged }),
      ...(checked === undefined ? {} : { checked }),
      ...(trouble === undefined ? {} : { trouble }),
      lagMs: sinceMs === undefined ? 0 : this.options.clock.monotonicMs() - sinceMs,
    };
  }

  /** Sends what is due, and waits for what is due next. */
  private act(): void {
    if (this.isStopped) return;
    if (this.options.isQuiet?.(this.zone.source.zone.name) === true) {
      this.rest();
      return;
    }
    const { clock } = this.options;
    const { notify, check } = this.schedule.take(clock.monotonicMs());
    if (notify) this.notify();
    if (check) this.check();
    this.timer?.cancel();
    this.timer = clock.after(Math.max(0, this.schedule.dueMs - clock.monotonicMs()), () => this.act());
  }

  private notify(): void {
    this.notifiedMs = this.options.clock.wallMs();
    this.ask(
      (id, signer) => notifyMessage(id, presentSoa(this.zone.source), signer),
      (reply) => {
        if (reply !== undefined) this.acknowledged = { atMs: this.options.clock.wallMs(), rcode: reply.rcode };
      },
    );
  }

  private check(): void {
    this.ask(
      (id, signer) => soaQuery(id, this.zone.source.zone.name, signer),
      (reply) => this.judge(reply),
    );
  }

  /** Sends a message, whose reply is given on unless this secondary has been left meanwhile. */
  private ask(
    encode: (id: number, signer: MessageSigner | undefined) => OutgoingMessage,
    take: (reply: SecondaryReply | undefined) => void,
  ): void {
    const { clock, random, send, keyOf } = this.options;
    const nowSeconds = (): number => Math.floor(clock.wallMs() / 1000);
    const key = this.secondary.key === undefined ? undefined : keyOf(this.secondary.key);
    const id = Math.floor(random() * 0x1_0000);
    const { octets, expected } = encode(id, key && { key, nowSeconds: nowSeconds() });
    send(this.secondary, octets, (answer) => {
      if (!this.isStopped) take(answer && readSecondaryReply(answer, expected, nowSeconds()));
    });
  }

  /** What a check makes known. @param reply undefined: none came */
  private judge(reply: SecondaryReply | undefined): void {
    const { clock } = this.options;
    const nowMs = clock.monotonicMs();
    const present = this.zone.source.serial;
    if (reply !== undefined && reply.serial === undefined && this.how.isOptional === true) {
      this.trouble = undefined;
      this.sinceMs = undefined;
      this.schedule.checked(nowMs, "current");
    } else if (reply?.serial === undefined) {
      this.trouble = reply === undefined ? "silent" : "lame";
      this.sinceMs ??= nowMs;
      this.schedule.checked(nowMs, "unknown");
    } else {
      this.checked = { atMs: clock.wallMs(), serial: reply.serial };
      const isBehind = isSerialNewer(present, reply.serial);
      this.trouble = isBehind ? "behind" : undefined;
      this.sinceMs = isBehind ? (this.firstChangeAfter(reply.serial) ?? this.sinceMs ?? nowMs) : undefined;
      const isLoading = this.transferredSerial !== undefined && isSerialNewer(this.transferredSerial, reply.serial);
      this.schedule.checked(nowMs, isBehind ? (isLoading ? "loading" : "behind") : "current");
    }
    this.report(nowMs);
    this.act();
  }

  /** When the first change came to be that a secondary with this serial does not have; undefined if that is not kept. */
  private firstChangeAfter(serial: number): number | undefined {
    return this.zone.changes.find((change) => isSerialNewer(change.serial, serial))?.atMs;
  }

  private report(nowMs: number): void {
    const { trouble, sinceMs = nowMs, isReported } = this;
    if (isReported ? trouble !== undefined : trouble === undefined || nowMs - sinceMs < TROUBLE_AFTER_MS) return;
    this.isReported = !isReported;
    this.options.onTrouble(this.state(), this.isReported);
  }
}
