import { describe, expect, test } from "vitest";
import { ANSWER } from "../../src/answers/codec.js";
import type { AnswerTable } from "../../src/answers/table.js";
import { clientAt } from "../../src/query/client.js";
import { TRANSPORT } from "../../src/query/counters.js";
import { createBuffers } from "../../src/transport/batch/buffers.js";
import { type ServedZone, serveSketch } from "../answers/serve.js";
import { type DnsMessage, parseMessage } from "../support/dns-message.js";
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

function hex(octets: Uint8Array): string {
  return Buffer.from(octets).toString("hex");
}

/** Sets which rotation every answer of a table is sent in next. */
function rotations({ answers }: AnswerTable): { rotate(to: number): void; sameRotation(): void } {
  let current = 0;
  const sameRotation = (): void => {
    for (let at = ANSWER.nextRotation; at < answers.length; at += ANSWER.words) answers[at] = current;
  };
  return {
    sameRotation,
    rotate(to) {
      current = to;
      sameRotation();
    },
  };
}

/** Whether size rules, or an option that UDP ignores, make the reply over UDP another one than that over TCP. */
function isBoundToDiffer(udp: Buffer, tcp: Buffer): boolean {
  if (udp.length === 0 || tcp.length === 0) return false;
  const overUdp = parseMessage(udp);
  const overTcp = parseMessage(tcp);
  const added = (overTcp.edns?.options ?? []).some(({ code }) => code === 11 || code === 15);
  return overUdp.flags.tc || overUdp.additionals.length < overTcp.additionals.length || added;
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

  test("octets do not depend on where a message stands, nor on what stands around it", { timeout: 0 }, () => {
    const random = seededRandom(SEED + 1);
    const { table, respond } = serveSketch(SKETCH);
    const { receive, receiveSlot, send, sendSlot } = createBuffers();
    const whole = new Uint8Array(65_536);
    const odd = Buffer.alloc(65_543);
    const corpus = [...seeds(random, 100), ...plainSeeds(random, 400)];
    const { rotate, sameRotation } = rotations(table);
    for (let i = 0; i < PACKETS / 2; i += 1) {
      const query = mutate(random, corpus);
      if (query.length > receiveSlot) continue;
      const at = (i % 64) * receiveSlot;
      const replyAt = (i % 64) * sendSlot;
      receive.fill(i, at, at + receiveSlot).set(query, at);
      send.fill(i, replyAt, replyAt + sendSlot);
      rotate(i);
      const slotLength = respond(receive, at, query.length, send, replyAt, TRANSPORT.udp, client);
      const inSlot = Buffer.from(send.subarray(replyAt, replyAt + slotLength));

      sameRotation();
      const message = Buffer.concat([Buffer.alloc(i % 7, 0xaa), query, Buffer.alloc(9, 0xbb)]);
      const length = respond(message, i % 7, query.length, odd, i % 5, TRANSPORT.udp, client);
      const elsewhere = odd.subarray(i % 5, (i % 5) + length);
      if (!inSlot.equals(elsewhere)) throw new Error(`${hex(query)}\n ${hex(inSlot)}\n ${hex(elsewhere)}`);

      sameRotation();
      const tcpLength = respond(receive, at, query.length, whole, 0, TRANSPORT.tcp, client);
      const overTcp = Buffer.from(whole.subarray(0, tcpLength));
      if (isBoundToDiffer(inSlot, overTcp)) continue;
      if (!inSlot.equals(overTcp)) throw new Error(`${hex(query)}\n udp ${hex(inSlot)}\n tcp ${hex(overTcp)}`);
    }
  });
});
