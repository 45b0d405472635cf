import type { Clock } from "../lib/clock.js";
import { RCODE, TYPE } from "../wire/constants.js";
import { lowerName, type Name } from "../wire/name.js";
import type { TsigKey } from "../wire/tsig.js";
import type { ZoneChange } from "../zone/live-zone.js";
import { isSerialNewer } from "../zone/serial.js";
import { type JournalLimits, presentRecords, presentSoa, ZoneJournal, type ZoneSource } from "./journal.js";
import { errorMessage, fullTransfer, incrementalTransfer, type TransferReply, transferMessages } from "./messages.js";
import type { TransferRequest } from "./request.js";

/** Transfers under way at once; further ones wait for their turn. */
export const MAX_TRANSFERS = 8;

/** Of these to one address, as BIND asks by default (`transfers-per-ns`). */
export const MAX_TRANSFERS_PER_CLIENT = 2;

/** Requests that may wait; further ones are told SERVFAIL. */
const MAX_WAITING = 1_000;

/** Changes of RRsets that all journals together keep, some 100 octets each. */
const MAX_KEPT_CHANGES = 300_000;

/** Changes of RRsets that a journal may keep at least, however many zones there are. */
const LEAST_KEPT_CHANGES = 100;

/** How a zone is transferred: whole, as a difference, or not at all since the client has it. */
export type TransferKind = "axfr" | "ixfr" | "current";

/**
 * What a server may do for secondaries of a zone where several are primaries: it makes the serials; it has the serial and the
 * records of who does; or it does not have the records yet.
 */
export type ZoneStanding = "active" | "mirror" | "behind";

/** A transfer that has ended. */
export interface FinishedTransfer {
  /** Lower case. */
  readonly zone: Name;
  /** Address of the secondary. */
  readonly client: string;
  readonly kind: TransferKind;
  /** The serial that was transferred. */
  readonly serial: number;
  /** Octets of all messages. */
  readonly octets: number;
  /** Milliseconds. */
  readonly durationMs: number;
  /** Whether the client has taken all of it. */
  readonly isComplete: boolean;
}

/** Takes the messages of a transfer, one at a time. @param message absent: the connection is to be cut */
export type SendPart = (message: Uint8Array | undefined, isLast: boolean) => void;

/** A transfer, seen from the connection that it goes over. */
export interface OutgoingTransfer {
  /** The connection can take the next message. */
  more(): void;
  /** The connection has ended, or has taken all. */
  end(isComplete: boolean): void;
}

export interface TransferServiceOptions {
  readonly clock: Clock;
  /** Absent: this server is the only primary. */
  standingOf?(zone: Name): ZoneStanding;
  onFinished(transfer: FinishedTransfer): void;
  /** What went wrong inside; the connection is cut. */
  onError(error: unknown): void;
}

/** Transfers zones to secondaries: keeps the journals, and makes the messages when they can be sent. */
export class TransferService {
  private readonly journals = new Map<Name, { readonly source: ZoneSource; readonly journal: ZoneJournal }>();
  private keys: ReadonlyMap<Name, TsigKey> = new Map();
  /** States to keep, by zone. */
  private versions: ReadonlyMap<Name, number> = new Map();
  private readonly running = new Set<Transfer>();
  private readonly waiting = new Set<Transfer>();

  constructor(private readonly options: TransferServiceOptions) {}

  /** How many transfers are under way, and wait. */
  get load(): { readonly running: number; readonly waiting: number } {
    return { running: this.running.size, waiting: this.waiting.size };
  }

  /** The keys that replies are signed with, by name. */
  setKeys(keys: ReadonlyMap<Name, TsigKey>): void {
    this.keys = keys;
  }

  /** The key of this name. */
  keyOf(name: Name): TsigKey | undefined {
    return this.keys.get(name);
  }

  /** How many states of each zone are kept; zones that are not named keep none. */
  setVersions(versions: ReadonlyMap<Name, number>): void {
    this.versions = versions;
    for (const [name, { journal }] of this.journals) journal.setLimits(this.limitsOf(name));
  }

  addZone(source: ZoneSource): void {
    const { name } = source.zone;
    this.journals.set(name, { source, journal: new ZoneJournal(source, this.limitsOf(name)) });
  }

  /** Tells no difference from the states of a zone until now any more. */
  forget(name: Name): void {
    this.journals.get(name)?.journal.clear();
  }

  removeZone(name: Name): void {
    this.journals.delete(name);
  }

  /** Takes note of a change that has happened. */
  change(change: ZoneChange): void {
    this.journals.get(change.zone)?.journal.record(change);
  }

  /** Begins a transfer that has been granted; the first message comes at once, or when others have ended. */
  begin(request: TransferRequest, send: SendPart): OutgoingTransfer {
    const transfer = new Transfer(request, send, this.options.clock.monotonicMs());
    if (this.waiting.size >= MAX_WAITING) this.refuse(transfer);
    else this.waiting.add(transfer);
    this.startWaiting();
    return {
      more: () => this.sendNext(transfer),
      end: (isComplete) => this.finish(transfer, isComplete),
    };
  }

  private limitsOf(name: Name): JournalLimits {
    const share = Math.floor(MAX_KEPT_CHANGES / Math.max(1, this.versions.size));
    return { versions: this.versions.get(name) ?? 0, changes: Math.max(LEAST_KEPT_CHANGES, share) };
  }

  private startWaiting(): void {
    for (const transfer of this.waiting) {
      if (this.running.size >= MAX_TRANSFERS) return;
      const { client } = transfer.request;
      const own = [...this.running].filter((other) => other.request.client === client).length;
      if (own >= MAX_TRANSFERS_PER_CLIENT) continue;
      this.waiting.delete(transfer);
      this.running.add(transfer);
      this.attempt(transfer, () => this.start(transfer));
    }
  }

  private start(transfer: Transfer): void {
    const { request } = transfer;
    const entry = this.journals.get(lowerName(request.zone));
    const reply = this.replyTo(request);
    const standing = this.options.standingOf?.(lowerName(request.zone)) ?? "active";
    if (entry === undefined || reply === undefined || standing === "behind") {
      this.refuse(transfer);
      return;
    }
    const { source, journal } = entry;
    transfer.serial = source.serial;
    if (request.type === TYPE.IXFR && !isSerialNewer(source.serial, request.serial ?? 0)) {
      transfer.begin("current", transferMessages(reply, [presentSoa(source)]));
    } else {
      const isTold = request.type === TYPE.IXFR && standing === "active";
      const difference = isTold ? journal.difference(request.serial ?? 0) : undefined;
      if (difference === undefined) {
        transfer.begin("axfr", transferMessages(reply, fullTransfer(presentSoa(source), presentRecords(source))));
      } else {
        transfer.begin("ixfr", transferMessages(reply, incrementalTransfer(difference)));
      }
    }
    this.sendNext(transfer);
  }

  /** Undefined if the key is not there any more. */
  private replyTo(request: TransferRequest): TransferReply | undefined {
    const { id, zone, type, rd, hasEdns, signature } = request;
    const reply = { id, zone, type, rd, hasEdns };
    if (signature === undefined) return reply;
    const key = this.keys.get(signature.key);
    const nowSeconds = (): number => Math.floor(this.options.clock.wallMs() / 1000);
    return key && { ...reply, signature: { key, mac: signature.mac, nowSeconds } };
  }

  private refuse(transfer: Transfer): void {
    const { request, send } = transfer;
    const reply = this.replyTo(request);
    send(reply && errorMessage(reply, RCODE.SERVFAIL), true);
  }

  private sendNext(transfer: Transfer): void {
    this.attempt(transfer, () => {
      const next = transfer.next();
      if (next !== undefined) transfer.send(next.message, next.isLast);
    });
  }

  private attempt(transfer: Transfer, task: () => void): void {
    try {
      task();
    } catch (error) {
      this.options.onError(error);
      transfer.send(undefined, true);
    }
  }

  private finish(transfer: Transfer, isComplete: boolean): void {
    this.waiting.delete(transfer);
    if (this.running.delete(transfer) && transfer.kind !== undefined) {
      const { request, kind, serial, octets, startedMs } = transfer;
      const durationMs = this.options.clock.monotonicMs() - startedMs;
      const zone = lowerName(request.zone);
      this.options.onFinished({ zone, client: request.client, kind, serial, octets, durationMs, isComplete });
    }
    this.startWaiting();
  }
}

/** One transfer: what was asked, and the messages that are left. */
class Transfer {
  kind: TransferKind | undefined;
  serial = 0;
  octets = 0;
  private messages: Iterator<Uint8Array> | undefined;
  private ahead: Uint8Array | undefined;

  constructor(
    readonly request: TransferRequest,
    readonly send: SendPart,
    readonly startedMs: number,
  ) {}

  begin(kind: TransferKind, messages: Iterator<Uint8Array>): void {
    this.kind = kind;
    this.messages = messages;
    this.ahead = this.pull();
  }

  /** The next message; undefined if there is none. One is made ahead, so that the last is known as such. */
  next(): { readonly message: Uint8Array; readonly isLast: boolean } | undefined {
    const message = this.ahead;
    if (message === undefined) return undefined;
    this.octets += message.length;
    this.ahead = this.pull();
    return { message, isLast: this.ahead === undefined };
  }

  private pull(): Uint8Array | undefined {
    const next = this.messages?.next();
    return next === undefined || next.done === true ? undefined : next.value;
  }
}
