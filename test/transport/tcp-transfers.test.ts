import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/lib/clock.js";
import { clientAt } from "../../src/query/client.js";
import { createQueryCounters } from "../../src/query/counters.js";
import { createResponder } from "../../src/query/respond.js";
import type { OutgoingTransfer } from "../../src/transfer/service.js";
import { type FinishedTransfer, TransferService } from "../../src/transfer/service.js";
import { openTcp } from "../../src/transport/tcp.js";
import { DEFAULT_TCP_LIMITS } from "../../src/transport/tcp-connection.js";
import { TcpTransfers } from "../../src/transport/tcp-transfers.js";
import type { FromWorker } from "../../src/transport/worker-messages.js";
import { parseName } from "../../src/wire/name.js";
import { type ServedZone, serveSketch } from "../answers/serve.js";
import { afterThisTest } from "../support/cleanup.js";
import { encodeQuery, parseMessage } from "../support/dns-message.js";
import { freePort } from "../support/ports.js";
import { waitUntil } from "../support/wait.js";
import { transferQuery } from "../transfer/signing.js";
import { connectTcp } from "./harness.js";

const ZONE = parseName("k8s.example.test");
const LINE = `${"x".repeat(200)}`;
/** Some 6 MB: more than a connection takes unread. */
const RECORDS = Array.from({ length: 20_000 }, (_, i) => `t${i} 60 IN TXT "${LINE}" "${i}"`).join("\n");

/** The zone with these records, which no transfer changes: made once. */
function served(records: string): ServedZone {
  const made =
    zones.get(records) ??
    serveSketch({
      endpoints: { api: { cp1: ["192.0.2.11"] } },
      records,
      policy: {
        cookieSecrets: [],
        tcpIdleMs: 10_000,
        transfer: { keys: new Map(), zones: new Map([[ZONE, [{ octets: clientAt("127.0.0.1").octets, bits: 32 }]]]) },
      },
    });
  zones.set(records, made);
  return made;
}

const zones = new Map<string, ServedZone>();

/** A zone that 127.0.0.1 may transfer, over a real socket; messages go the way they go between two threads. */
async function serve(records: string, replyMs = DEFAULT_TCP_LIMITS.replyMs) {
  const { live, state } = served(records);
  const finished: FinishedTransfer[] = [];
  const service = new TransferService({ clock: systemClock, onFinished: (one) => finished.push(one), onError() {} });
  service.addZone(live);
  const open = new Map<number, OutgoingTransfer>();
  const take = (message: FromWorker): void => {
    if (message.kind === "transfer") {
      const { number, request } = message;
      const send = (part: Uint8Array | undefined, isLast: boolean) =>
        void setImmediate(() => transfers.take(number, part, isLast));
      open.set(number, service.begin(request, send));
    } else if (message.kind === "transfer-more") open.get(message.number)?.more();
    else if (message.kind === "transfer-end") open.get(message.number)?.end(message.isComplete);
  };
  const transfers = new TcpTransfers((message) => void setImmediate(() => take(message)));
  const respond = createResponder(state, createQueryCounters(), { onTransfer: transfers.onTransfer });
  const at = { address: "127.0.0.1", port: await freePort() };
  const limits = { ...DEFAULT_TCP_LIMITS, replyMs };
  const listening = await openTcp(at, respond, undefined, { transfers, limits: () => limits });
  afterThisTest(() => listening.stop(0));
  return { server: "127.0.0.1", port: listening.address.port, service, finished };
}

const AXFR = transferQuery({ type: "AXFR" });
const QUERY = encodeQuery({ name: "api.k8s.example.test" });

describe("a transfer over TCP", () => {
  test("of many messages arrives whole, between the answers of the same connection, in order", async () => {
    const at = await serve(RECORDS);
    const client = await connectTcp(at);
    client.send(QUERY, AXFR, QUERY, AXFR, QUERY);
    await waitUntil(() => client.messages.filter((one) => parseMessage(one).questions[0]?.type === "A").length === 3, {
      timeoutMs: 30_000,
    });
    const kinds = client.messages.map((one) => {
      const [question] = parseMessage(one).questions;
      return question === undefined ? "." : question.type;
    });
    expect(kinds.join(" ").replace(/( \.)+/g, " …")).toBe("A AXFR … A AXFR … A");
    const records = client.messages.flatMap((one) => parseMessage(one).answers);
    expect(records.filter(({ type }) => type === "TXT")).toHaveLength(2 * 20_000);
    expect(at.finished).toMatchObject([
      { kind: "axfr", isComplete: true },
      { kind: "axfr", isComplete: true },
    ]);
  });

  test("to a client that closes its own side first arrives all the same", async () => {
    const at = await serve("");
    const client = await connectTcp(at);
    client.send(AXFR);
    client.socket.end();
    await client.closed;
    expect(client.messages.map((one) => parseMessage(one).questions[0]?.type)).toEqual(["AXFR"]);
  });

  test("that the client resets ends at once, and makes room for others", async () => {
    const at = await serve(RECORDS);
    for (let i = 0; i < 3; i += 1) {
      const client = await connectTcp(at);
      client.socket.pause();
      client.send(AXFR);
      await waitUntil(() => at.service.load.running === 1);
      client.socket.resetAndDestroy();
      await waitUntil(() => at.service.load.running === 0);
    }
    expect(at.finished.map(({ isComplete }) => isComplete)).toEqual([false, false, false]);
  });

  test("that the client does not take is cut; its memory is bounded meanwhile", async () => {
    const at = await serve(RECORDS, 600);
    const client = await connectTcp(at);
    client.socket.pause();
    client.send(AXFR);
    await waitUntil(() => at.finished.length === 1);
    expect(at.finished).toMatchObject([{ isComplete: false }]);
    client.socket.destroy();
  });

  test("one that waits for its turn gets it", async () => {
    const at = await serve(RECORDS);
    const slow = await Promise.all([connectTcp(at), connectTcp(at)]);
    for (const client of slow) {
      client.socket.pause();
      client.send(AXFR);
    }
    await waitUntil(() => at.service.load.running === 2);
    const third = await connectTcp(at);
    third.send(AXFR);
    await waitUntil(() => at.service.load.waiting === 1);
    slow[0]?.socket.resetAndDestroy();
    await waitUntil(() => third.messages.length > 0);
    for (const { socket } of [...slow, third]) socket.destroy();
  });
});
