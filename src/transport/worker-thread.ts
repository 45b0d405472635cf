import { Worker } from "node:worker_threads";
import { messageOf, UserError } from "../lib/errors.js";
import { installed } from "../lib/installation.js";
import type { SocketAddress } from "../lib/listening.js";
import type { Logger } from "../lib/logger.js";
import type { TransferRequest } from "../transfer/request.js";
import type { OutgoingTransfer, SendPart } from "../transfer/service.js";
import type { FromWorker, SocketOrder, ToWorker, WorkerSettings } from "./worker-messages.js";
import { ZoneFeed, type ZoneSource } from "./zone-feed.js";

/** Milliseconds before a crashed thread is replaced, so that one that cannot live does not eat the processor. */
const REPLACE_AFTER_MS = 100;

/** The program of a thread: always the built one, since a thread cannot run the TypeScript that a test runner runs. */
const PROGRAM = installed("dist/transport/worker.js");

/**
 * Mebibytes for a thread's young objects. Answering makes none, and changes make few: the engine's own choice, 16 and more, would
 * only keep garbage of the start resident.
 */
const YOUNG_GENERATION_MB = 2;

/** Starts a thread of this program. */
export function startThread(settings: WorkerSettings): Worker {
  return new Worker(PROGRAM, {
    workerData: settings,
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    name: `${settings.role}-${settings.index}`,
  });
}

/** Who makes the transfers that a thread is asked for. */
export interface TransferSource {
  begin(request: TransferRequest, send: SendPart): OutgoingTransfer;
}

/** What a thread is run with. */
export interface WorkerThreadOptions {
  readonly settings: WorkerSettings;
  readonly log: Logger;
  readonly zones: ZoneSource;
  /** Absent: none is made. */
  readonly transfers?: TransferSource;
  /** Starts the worker thread. */
  readonly start: (settings: WorkerSettings) => Worker;
  /** Wakes the thread where it blocks in the native part; absent: its event loop sees messages by itself. */
  readonly ring?: () => void;
  /** Brings a thread that took the place of a crashed one to where the others are. */
  onReplaced(thread: WorkerThread): void;
}

type ListenAnswer = Extract<FromWorker, { readonly kind: "listening" | "listen-failed" }>;

/** One thread that answers queries, and the one that takes its place if it crashes. */
export class WorkerThread {
  readonly settings: WorkerSettings;
  /** Brings zones to it. */
  readonly zones: ZoneFeed;
  private worker: Worker;
  private isEnding = false;
  private orders = 0;
  private readonly waiting = new Map<number, (answer: ListenAnswer) => void>();
  /** Transfers under way, by their number in the thread. */
  private readonly transfers = new Map<number, OutgoingTransfer>();

  constructor(private readonly options: WorkerThreadOptions) {
    this.settings = options.settings;
    this.zones = new ZoneFeed((message) => this.post(message), options.zones);
    this.worker = this.start();
  }

  /** Sends a message. */
  post(message: ToWorker): void {
    this.worker.postMessage(message);
    this.options.ring?.();
  }

  /**
   * Has the thread listen on `sockets` and on nothing else, once it has all zones.
   *
   * @returns the real addresses, in the order of `sockets`
   * @throws UserError, nothing changed, if one cannot be opened or the thread ends
   */
  listen(sockets: readonly SocketOrder[]): Promise<readonly SocketAddress[]> {
    this.orders += 1;
    const number = this.orders;
    const { worker, waiting } = this;
    return new Promise((resolve, reject) => {
      const gone = (): void => {
        waiting.delete(number);
        reject(new UserError("the thread that answers queries ended", "WORKER_ENDED"));
      };
      if (this.hasEnded()) return gone();
      worker.once("exit", gone);
      waiting.set(number, (answer) => {
        waiting.delete(number);
        worker.off("exit", gone);
        if (answer.kind === "listening") resolve(answer.addresses);
        else reject(new UserError(answer.message, answer.code));
      });
      this.zones.postBehind({ kind: "listen", number, sockets });
    });
  }

  /** From now on a thread that ends is not replaced. */
  expectEnd(): void {
    this.isEnding = true;
  }

  /** Ends the thread; resolves when it is gone, its queues drained. @param graceMs until open connections are cut */
  end(graceMs: number): Promise<void> {
    this.expectEnd();
    if (this.hasEnded()) return Promise.resolve();
    const ended = new Promise<void>((resolve) => this.worker.once("exit", () => resolve()));
    this.post({ kind: "stop", graceMs });
    return ended;
  }

  /** Whether the thread is no more; its `exit` event has been, so nobody need wait for it. */
  private hasEnded(): boolean {
    return this.worker.threadId === -1;
  }

  private start(): Worker {
    const { settings, log, start } = this.options;
    const { index } = settings;
    const worker = start(settings);
    worker.on("message", (message: FromWorker) => this.take(message));
    worker.on("error", (error) => log.error({ worker: index, error: messageOf(error) }, "worker failed"));
    worker.on("exit", () => {
      for (const transfer of this.transfers.values()) transfer.end(false);
      this.transfers.clear();
      if (this.isEnding) return;
      log.error({ worker: index }, "worker ended, starting another");
      setTimeout(() => this.replace(), REPLACE_AFTER_MS).unref();
    });
    return worker;
  }

  private take(message: FromWorker): void {
    switch (message.kind) {
      case "defect":
        this.options.log.error(message.defect, "query failed");
        return;
      case "zones-taken":
        this.zones.taken();
        return;
      case "transfer":
        this.transfer(message.number, message.request);
        return;
      case "transfer-more":
        this.transfers.get(message.number)?.more();
        return;
      case "transfer-end":
        this.transfers.get(message.number)?.end(message.isComplete);
        this.transfers.delete(message.number);
        return;
      default:
        this.waiting.get(message.number)?.(message);
    }
  }

  private transfer(number: number, request: TransferRequest): void {
    const send: SendPart = (message, isLast) =>
      this.post({ kind: "transfer-part", number, isLast, ...(message && { message }) });
    const { transfers } = this.options;
    if (transfers === undefined) send(undefined, true);
    else this.transfers.set(number, transfers.begin(request, send));
  }

  private replace(): void {
    if (this.isEnding) return;
    this.worker = this.start();
    this.zones.restart();
    this.zones.load(this.options.zones.names());
    this.options.onReplaced(this);
  }
}
