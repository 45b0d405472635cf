/** A thread that answers queries: sockets and a table, and messages that say what is to be in them. */
import { parentPort, workerData } from "node:worker_threads";
import { unpackNodes } from "../answers/codec.js";
import { AnswerTable } from "../answers/table.js";
import { systemClock } from "../lib/clock.js";
import { messageOf, UserError } from "../lib/errors.js";
import type { Listening } from "../lib/listening.js";
import { createQueryCounters } from "../query/counters.js";
import { createDefectReporter } from "../query/error-boundary.js";
import { ErrorRateLimit } from "../query/error-rate-limit.js";
import { createPolicy } from "../query/policy.js";
import { createResponder, type ResponderState } from "../query/respond.js";
import { openTcp } from "./tcp.js";
import { DEFAULT_TCP_LIMITS, type TcpLimits } from "./tcp-connection.js";
import { openUdp } from "./udp.js";
import { createBatchReceiver } from "./udp-batch.js";
import type { FromWorker, SocketOrder, ToWorker, WorkerSettings } from "./worker-messages.js";

const settings = workerData as WorkerSettings;
const counters = createQueryCounters(settings.counters);
const state: ResponderState = { table: new AnswerTable(), ready: false };
const monotonicMs = (): number => systemClock.monotonicMs();
const onDefect = createDefectReporter((defect) => say({ kind: "defect", defect }), monotonicMs);
const respond = createResponder(state, counters, { onDefect, errorLimit: new ErrorRateLimit(monotonicMs) });
let tcpLimits: TcpLimits = DEFAULT_TCP_LIMITS;
const receiveBatches = createBatchReceiver(respond);

let open: ReadonlyMap<string, readonly Listening[]> = new Map();
let coming = new AnswerTable();

async function openSockets(order: SocketOrder): Promise<Listening[]> {
  const udp =
    order.udp === undefined ? await openUdp(order.address, respond) : receiveBatches(order.address, order.udp);
  if (!order.servesTcp) return [udp];
  try {
    return [udp, await openTcp(udp.address, respond, order.tcp?.fd, { limits: () => tcpLimits, onTurnedAway })];
  } catch (error) {
    await udp.stop(0);
    throw error;
  }
}

function onTurnedAway(): void {
  counters.dropped("connection-limit");
}

/** Opens what is new, all or none, then closes what is no longer named. */
async function listen(sockets: readonly SocketOrder[]): Promise<void> {
  const next = new Map<string, readonly Listening[]>();
  const fresh: Listening[] = [];
  try {
    for (const order of sockets) {
      let opened = open.get(order.key);
      if (opened === undefined) {
        opened = await openSockets(order);
        fresh.push(...opened);
      }
      next.set(order.key, opened);
    }
  } catch (error) {
    await closeAll(fresh, 0);
    throw error;
  }
  const closing = [...open].filter(([key]) => !next.has(key)).flatMap(([, sockets]) => sockets);
  open = next;
  await closeAll(closing, 0);
}

async function closeAll(sockets: readonly Listening[], graceMs: number): Promise<void> {
  await Promise.all(sockets.map((socket) => socket.stop(graceMs)));
}

function say(message: FromWorker): void {
  parentPort?.postMessage(message);
}

async function obey(message: ToWorker): Promise<void> {
  switch (message.kind) {
    case "begin":
      coming = new AnswerTable();
      return;
    case "zones":
      for (const zone of message.zones) coming.addZone(zone);
      return;
    case "commit":
      state.table = coming;
      return;
    case "update":
      state.table.update({ zone: message.zone, serial: message.serial, nodes: unpackNodes(message.nodes) });
      return;
    case "serve":
      state.policy = createPolicy(message.terms.policy, systemClock, Math.random);
      tcpLimits = message.terms.tcp;
      return;
    case "stale":
      // All else stays, the rate limiter's counts among them.
      if (state.policy !== undefined) state.policy = { ...state.policy, isStale: message.isStale };
      return;
    case "ready":
      state.ready = true;
      return;
    case "listen":
      try {
        await listen(message.sockets);
        const addresses = [...open.values()].flatMap(([udp]) => (udp === undefined ? [] : [udp.address]));
        say({ kind: "listening", number: message.number, addresses });
      } catch (error) {
        const code = error instanceof UserError ? error.code : "LISTEN_FAILED";
        say({ kind: "listen-failed", number: message.number, message: messageOf(error), code });
      }
      return;
    case "stop":
      await closeAll([...open.values()].flat(), message.graceMs);
      parentPort?.close();
  }
}

parentPort?.on("message", (message: ToWorker) => {
  void obey(message);
});
