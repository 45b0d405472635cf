import { describe, expect, test } from "vitest";
import { ANSWER } from "../../src/answers/table.js";
import { clientAt } from "../../src/query/client.js";
import { createQueryCounters } from "../../src/query/counters.js";
import { createFastResponder, NOT_FAST } from "../../src/query/fast.js";
import { createReadyMade } from "../../src/query/packet-cache.js";
import { createBuffers } from "../../src/transport/batch/buffers.js";
import { type ServedZone, serveSketch } from "../answers/serve.js";
import { type DnsMessage, encodeQuery, parseMessage } from "../support/dns-message.js";
import { seededRandom } from "../support/random.js";
import { mutate, plainSeeds, seeds } from "./mutate.js";
import { SKETCH } from "./zone.js";

/** 5,000,000 take some minutes: `LIVEZONE_FUZZ_PACKETS=5000000 npx vitest run test/fuzz/respond.test.ts`. */
const PACKETS = Number(process.env.LIVEZONE_FUZZ_PACKETS ?? 200_000);
const SEED = Number(process.env.LIVEZONE_FUZZ_SEED ?? 6);

/** Octets that the options of a reply may have more than those of the query that asked for them: cookie and identity. */
function optionsRoom({ edns }: DnsMessage): number {
  const sizes: Readonly<Record<number, number>> = { 3: "fuzzed".length, 10: 16 };
  return (edns?.options ?? []).reduce((sum, { code }) => sum + (sizes[code] ?? 0), 0);
}

const ALL = { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"], cp3: ["192.0.2.13", "2001:db8::13"] };

/** The address that {@link ServedZone.askRaw} asks from. */
const client = clientAt("127.0.0.1");

/** What holds for every reply, whatever the query. */
function checkReply(query: Buffer, reply: Buffer): void {
  const message = parseMessage(reply);
  const broken = [
    message.id !== query.readUInt16BE(0) && "another id",
    !message.flags.qr && "no QR",
    (message.flags.ra || message.flags.ad || message.flags.cd) && "a flag that is not ours",
    message.opcode !== ((query.readUInt8(2) >> 3) & 0xf) && "another opcode",
    reply.length > 1232 && "over 1232 octets",
    message.edns === undefined && reply.length > 512 && "over 512 octets without EDNS",
    !["NOERROR", "NXDOMAIN"].includes(message.rcode) &&
      reply.length > query.length + optionsRoom(message) &&
      "an error longer than the query",
    message.flags.tc && message.answers.length > 0 && "a cut answer",
  ].filter(Boolean);
  if (broken.length > 0) throw new Error(`${broken.join(", ")}: ${query.toString("hex")} → ${reply.toString("hex")}`);
}

function checkControl(served: ServedZone): void {
  const { answers } = served.ask({ name: "api.k8s.example.test" });
  if (answers.length !== 3) throw new Error("a control query went wrong");
}

describe(`${PACKETS} mutated packets from seed ${SEED}`, () => {
  test("no crash, no malformed or oversized reply, every control query answered", { timeout: 0 }, () => {
    const random = seededRandom(SEED);
    const served = serveSketch(SKETCH);
    const corpus = seeds(random, 500);
    let answered = 0;
    const run = (packets: number): void => {
      for (let i = 0; i < packets; i += 1) {
        const query = mutate(random, corpus);
        const reply = served.askRaw(query);
        if (reply !== undefined) {
          checkReply(query, reply);
          answered += 1;
        }
        if (i % 1_000 === 0) checkControl(served);
      }
    };
    run(PACKETS);
    // Most must get past the first checks, or the rest is not tested.
    expect(answered / PACKETS).toBeGreaterThan(0.5);
  });

  test("the fast path gives the same octets as the general one, or leaves the query to it", { timeout: 0 }, () => {
    const random = seededRandom(SEED + 1);
    const served = serveSketch(SKETCH);
    const fast = createFastResponder(served.state, createQueryCounters());
    const corpus = [...seeds(random, 100), ...plainSeeds(random, 400)];
    const reply = Buffer.alloc(2_000);
    let taken = 0;
    for (let i = 0; i < PACKETS; i += 1) {
      const query = mutate(random, corpus);
      // Not at the beginning of the memory they stand in, as in a batch.
      const at = i % 7;
      const message = Buffer.concat([Buffer.alloc(at, 0xaa), query, Buffer.alloc(9, 0xbb)]);
      const length = fast(message, at, query.length, reply, at, client);
      if (length === NOT_FAST) continue;
      taken += 1;
      const { table } = served;
      // The general path is to send the addresses in the order that has just been sent.
      const turn = table.answers[table.found + ANSWER.turn] as number;
      if ((table.answers[table.found + ANSWER.rotationCount] as number) > 1)
        table.answers[table.found + ANSWER.turn] = turn - 1;
      const general = served.askRaw(query);
      if (general === undefined || !general.equals(reply.subarray(at, at + length))) {
        throw new Error(
          `${query.toString("hex")}\n fast    ${reply.subarray(at, at + length).toString("hex")}\n general ${general?.toString("hex")}`,
        );
      }
    }
    expect(taken / PACKETS).toBeGreaterThan(0.1);
  });

  test("and so do replies that are kept ready", { timeout: 0 }, () => {
    const random = seededRandom(SEED + 2);
    const served = serveSketch(SKETCH);
    const { state, table } = served;
    const { receive, receiveSlot, send, sendSlot } = createBuffers();
    const counters = createQueryCounters();
    const readyMade = createReadyMade(state, counters, createFastResponder(state, counters), receive, send);
    const corpus = [...seeds(random, 50), ...plainSeeds(random, 100)];
    const packets = PACKETS / 4;
    let taken = 0;
    for (let i = 0; i < packets; i += 1) {
      const query = mutate(random, corpus);
      if (query.length > receiveSlot) continue;
      if (i % 5_000 === 4_999) served.setAnswer("api", i % 2 === 0 ? ALL : { cp1: ALL.cp1 });
      const at = (i % 64) * receiveSlot;
      const replyAt = (i % 64) * sendSlot;
      receive.set(query, at);
      const turns = table.answers.slice();
      const length = readyMade(at, query.length, replyAt, client);
      if (length === NOT_FAST) continue;
      taken += 1;
      const turnsAfter = table.answers.slice();
      table.answers.set(turns);
      const general = served.askRaw(query);
      const reply = Buffer.from(send.subarray(replyAt, replyAt + length));
      if (general === undefined || !general.equals(reply)) {
        throw new Error(
          `${query.toString("hex")}\n ready   ${reply.toString("hex")}\n general ${general?.toString("hex")}`,
        );
      }
      table.answers.set(turnsAfter);
    }
    expect(taken / packets).toBeGreaterThan(0.05);
  });

  test("what a client of today sends is fast", () => {
    const served = serveSketch(SKETCH);
    const fast = createFastResponder(served.state, createQueryCounters());
    const reply = Buffer.alloc(1_232);
    for (const edns of [undefined, { udpSize: 1232 }, { udpSize: 4096, dnssecOk: true }]) {
      for (const name of [
        "api.k8s.example.test",
        "aPi.k8S.example.test",
        "nothing.k8s.example.test",
        "x.child.k8s.example.test",
      ]) {
        for (const type of ["A", "AAAA", "HTTPS", "TXT", "NS", "DS", "CAA"]) {
          const query = encodeQuery({ name, type, rd: true, ...(edns === undefined ? {} : { edns }) });
          expect(fast(query, 0, query.length, reply, 0, client)).toBeGreaterThan(12);
        }
      }
    }
  });
});
