/** A thread that answers queries over UDP, or over TCP: sockets and a table, and messages that say what is to be in them. */
import { parentPort, workerData } from "node:worker_threads";
import { AnswerTable } from "../answers/table.js";
import { applyTableMessage } from "../answers/table-messages.js";
import { BatchClock, systemClock } from "../lib/clock.js";
import { messageOf, UserError } from "../lib/errors.js";
import type { Listening } from "../lib/listening.js";
import { createQueryCounters } from "../query/counters.js";
import { createDefectReporter } from "../query/error-boundary.js";
import { ErrorRateLimit } from "../query/error-rate-limit.js";
import { createPolicy } from "../query/policy.js";
import { createResponder, type ResponderState } from "../query/respond.js";
import { loadBatch } from "./batch/load.js";
import { inlineRequestPath } from "./inlining.js";
import { openTcp } from "./tcp.js";
import { DEFAULT_TCP_LIMITS, type TcpLimits } from "./tcp-connection.js";
import { TcpTransfers } from "./tcp-transfers.js";
import { openUdp } from "./udp.js";
import { BatchServer } from "./udp-batch.js";
import type { FromWorker, SocketOrder, ToWorker, WorkerSettings } from "./worker-messages.js";

/** The TCP thread gives way to those of UDP on a processor that they share: as nice(2). */
const TCP_NICE = 10;

/** Time after which what the start needed goes back to the system, milliseconds: some 6 of 100 MB. */
const TRIM_AFTER_MS = 10_000;

inlineRequestPath();

const settings = workerData as WorkerSettings;
const counters = createQueryCounters(settings.counters);
const state: ResponderState = { table: new AnswerTable(), ready: false };
const clock = new BatchClock(systemClock);
const monotonicMs = (): number => clock.monotonicMs();
const onDefect = createDefectReporter((defect) => post({ kind: "defect", defect }), monotonicMs);
const transfers = new TcpTransfers(post);
const respond = createResponder(state, counters, {
  onDefect,
  errorLimit: new ErrorRateLimit(monotonicMs),
  onTransfer: transfers.onTransfer,
});
const batchServer = settings.alarm === undefined ? undefined : startBatchServer(settings.alarm);
let tcpLimits: TcpLimits = DEFAULT_TCP_LIMITS;

let open: ReadonlyMap<string, Listening> = new Map();

function startBatchServer(alarm: number): BatchServer {
  const { transport, reason } = loadBatch();
  if (transport === undefined) throw new Error(reason);
  return new BatchServer(transport, respond, clock, alarm);
}

async function openSocket({ address, udp, tcp }: SocketOrder): Promise<Listening> {
  if (settings.role === "tcp") {
    return openTcp(address, respond, tcp?.fd, {
      limits: () => tcpLimits,
      onTurnedAway: () => counters.dropped("connection-limit"),
      transfers,
    });
  }
  return udp === undefined || batchServer === undefined ? openUdp(address, respond) : batchServer.open(address, udp);
}

/** Opens what is new, all or none, then closes what is no longer named. */
async function listen(sockets: readonly SocketOrder[]): Promise<void> {
  const next = new Map<string, Listening>();
  const fresh: Listening[] = [];
  try {
    for (const order of sockets) {
      let opened = open.get(order.key);
      if (opened === undefined) {
        opened = await openSocket(order);
        fresh.push(opened);
      }
      next.set(order.key, opened);
    }
  } catch (error) {
    await closeAll(fresh, 0);
    throw error;
  }
  const closing = [...open].filter(([key]) => !next.has(key)).map(([, socket]) => socket);
  open = next;
  await closeAll(closing, 0);
}

async function closeAll(sockets: readonly Listening[], graceMs: number): Promise<void> {
  await Promise.all(sockets.map((socket) => socket.stop(graceMs)));
}

function post(message: FromWorker): void {
  parentPort?.postMessage(message);
}

async function answerListen(number: number, sockets: readonly SocketOrder[]): Promise<void> {
  try {
    await listen(sockets);
    post({ kind: "listening", number, addresses: [...open.values()].map(({ address }) => address) });
  } catch (error) {
    const code = error instanceof UserError ? error.code : "LISTEN_FAILED";
    post({ kind: "listen-failed", number, message: messageOf(error), code });
  }
}

async function stop(graceMs: number): Promise<void> {
  await closeAll([...open.values()], graceMs);
  batchServer?.stop();
  parentPort?.close();
}

async function handleMessage(message: ToWorker): Promise<void> {
  switch (message.kind) {
    case "zones":
      for (const zone of message.messages) applyTableMessage(state.table, zone);
      post({ kind: "zones-taken" });
      return;
    case "table":
      applyTableMessage(state.table, message.message);
      return;
    case "policy":
      state.policy = createPolicy(message.policy.policy, clock, Math.random);
      tcpLimits = message.policy.tcp;
      return;
    case "stale":
      // All else stays, the rate limiter's counts among them.
      if (state.policy !== undefined) state.policy = { ...state.policy, isStale: message.isStale };
      return;
    case "silent":
      state.ready = !message.isSilent;
      return;
    case "ready":
      state.ready = true;
      return;
    case "transfer-part":
      transfers.take(message.number, message.message, message.isLast);
      return;
    case "listen":
      return answerListen(message.number, message.sockets);
    case "stop":
      return stop(message.graceMs);
  }
}

parentPort?.on("message", (message: ToWorker) => void handleMessage(message));
if (settings.role === "tcp") {
  const native = loadBatch().transport;
  native?.setNice(TCP_NICE);
  // All threads' memory, but by the one that may wait: no datagram is delayed.
  if (native !== undefined) systemClock.after(TRIM_AFTER_MS, native.trim);
}
batchServer?.start();
