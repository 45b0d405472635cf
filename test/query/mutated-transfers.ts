import { createHmac } from "node:crypto";
import { clientAt } from "../../src/query/client.js";
import { createQueryCounters, TRANSPORT, type TransportIndex } from "../../src/query/counters.js";
import { createResponder, HANDED_OVER } from "../../src/query/respond.js";
import type { TransferPolicy } from "../../src/query/transfer-access.js";
import type { TransferRequest } from "../../src/transfer/request.js";
import { TransferService } from "../../src/transfer/service.js";
import { parseName } from "../../src/wire/name.js";
import { serveSketch } from "../answers/serve.js";
import { parseMessage } from "../support/dns-message.js";
import { createFakeClock } from "../support/fake-clock.js";
import { pick } from "../support/random.js";
import { CORP, sign, transferQuery } from "../transfer/signing.js";

/* Requests for transfers that are right, wrong and mutated, and an oracle that knows who may have what, apart from `src/`. */

const NOW = 1_700_000_000;
const ZONE = "k8s.example.test";
const ZONE_OCTETS = "\x03k8s\x07example\x04test\x00";
const AXFR = 252;
const IXFR = 251;
const TSIG = "TYPE250";
const LISTED = "192.0.2.53";
const WITH_KEY = "198.51.100.7";
const STRANGER = "203.0.113.9";
const prefix = (address: string, bits: number) => ({ octets: clientAt(address).octets, bits });

const transfer: TransferPolicy = {
  keys: new Map([[CORP.name, CORP]]),
  zones: new Map([[parseName(ZONE), [prefix(LISTED, 32), { ...prefix("198.51.100.0", 24), key: CORP.name }]]]),
};

const served = serveSketch({
  endpoints: { api: { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"] } },
  policy: { cookieSecrets: [], tcpIdleMs: 10_000, transfer, nowSeconds: () => NOW },
});

/** Right requests, of which the others are made. */
const SEEDS: readonly Buffer[] = (["AXFR", "IXFR", "SOA", "A"] as const).flatMap((type) => {
  const plain = [{ type }, { type, edns: true }, { type, zone: "other.test" }, { type, zone: `api.${ZONE}` }];
  const all = [...plain, { type, serial: 1_699_999_999 }, { type, serial: 5, edns: true }].map(transferQuery);
  return all.flatMap((query) => [
    query,
    sign(query, { time: NOW }),
    sign(query, { time: NOW - 301 }),
    sign(query, { time: NOW, key: "nope" }),
    sign(query, { time: NOW, secret: Buffer.alloc(32) }),
    sign(query, { time: NOW, octets: 16 }),
    sign(query, { time: NOW, octets: 10 }),
  ]);
});

type Random = () => number;

/** Changes some octets, cuts, repeats, or puts parts of two requests together; one in ten is signed after that. */
function mutated(random: Random): Buffer {
  const below = (count: number): number => Math.floor(random() * count);
  let message = Buffer.from(pick(random, SEEDS));
  for (let changes = below(4); changes > 0; changes -= 1) {
    const at = below(message.length);
    switch (below(6)) {
      case 0:
        message[at] = below(256);
        break;
      case 1:
        message[at] = (message[at] as number) ^ (1 << below(8));
        break;
      case 2:
        message = message.subarray(0, Math.max(1, at));
        break;
      case 3: {
        const other = pick(random, SEEDS);
        message = Buffer.concat([message.subarray(0, at), other.subarray(below(other.length))]);
        break;
      }
      case 4:
        message = Buffer.concat([message.subarray(0, at), message.subarray(at, at + below(40)), message.subarray(at)]);
        break;
      default:
        // Counts, and lengths, at their edges.
        message[at] = pick(random, [0, 0xff, 0xc0, 0x3f]);
    }
  }
  return message.length > 12 && random() < 0.1 ? sign(message, { time: NOW }) : message;
}

/** The name at a place, in full, and where it ends; undefined for one that cannot be read. Apart from `src/wire/name.ts`. */
function nameAt(message: Buffer, start: number): { readonly octets: Buffer; readonly end: number } | undefined {
  const labels: Buffer[] = [];
  let end = -1;
  let at = start;
  for (let jumps = 0; jumps < 128; ) {
    const length = message[at];
    if (length === undefined) return undefined;
    if (length >= 0xc0) {
      if (at + 1 >= message.length) return undefined;
      if (end < 0) end = at + 2;
      at = message.readUInt16BE(at) & 0x3fff;
      jumps += 1;
      continue;
    }
    labels.push(
      Buffer.from(
        message
          .subarray(at, at + length + 1)
          .toString("latin1")
          .toLowerCase(),
        "latin1",
      ),
    );
    at += length + 1;
    if (length === 0) return { octets: Buffer.concat(labels), end: end < 0 ? at : end };
  }
  return undefined;
}

/** Where a name ends; one that points to nowhere has an end, too. */
function endOfName(message: Buffer, start: number): number {
  let at = start;
  while ((message[at] ?? 0) > 0 && (message[at] as number) < 0xc0) at += 1 + (message[at] as number);
  return at + ((message[at] ?? 0) === 0 ? 1 : 2);
}

/** Whether the last record signs the message with the key, by the letter of RFC 8945 §4.3. Apart from `src/wire/tsig.ts`. */
function isSigned(message: Buffer): boolean {
  let at = (nameAt(message, 12)?.end ?? 0) + 4;
  let start = at;
  const records = message.readUInt16BE(6) + message.readUInt16BE(8) + message.readUInt16BE(10);
  for (let left = records; left > 0; left -= 1) {
    start = at;
    const end = endOfName(message, at);
    at = end + 10 + message.readUInt16BE(end + 8);
  }
  const owner = nameAt(message, start);
  const algorithm = owner && nameAt(message, owner.end + 10);
  if (owner === undefined || algorithm === undefined || message.readUInt16BE(owner.end) !== 250) return false;
  const timers = message.subarray(algorithm.end, algorithm.end + 8);
  const macEnd = algorithm.end + 10 + message.readUInt16BE(algorithm.end + 8);
  const head = Buffer.concat([message.subarray(macEnd, macEnd + 2), message.subarray(2, 10), Buffer.alloc(2)]);
  head.writeUInt16BE(message.readUInt16BE(10) - 1, 10);
  const mac = createHmac("sha256", CORP.secret)
    .update(head)
    .update(message.subarray(12, start))
    .update(owner.octets)
    .update(Buffer.from([0, 255, 0, 0, 0, 0]))
    .update(algorithm.octets)
    .update(timers)
    .update(message.subarray(macEnd + 2))
    .digest();
  const age = Math.abs(timers.readUIntBE(0, 6) - NOW);
  return mac.equals(message.subarray(algorithm.end + 10, macEnd)) && age <= timers.readUInt16BE(6);
}

/** What a request asks for. Apart from `src/query/decode.ts`. */
function questionOf(message: Buffer): { readonly zone: string; readonly type: number } | undefined {
  const name = nameAt(message, 12);
  if (name === undefined || message.length < name.end + 4) return undefined;
  return { zone: name.octets.toString("latin1"), type: message.readUInt16BE(name.end) };
}

/** Whether somebody may have the records of the zone that his request names. */
function isEntitled(query: Buffer, from: string): boolean {
  const isZone = questionOf(query)?.zone === ZONE_OCTETS;
  return isZone && (from === LISTED || (from === WITH_KEY && isSigned(query)));
}

/** Transfers a zone to the end. @returns how many messages that took */
function transferAll(request: TransferRequest): number {
  let messages = 0;
  let isOver = false;
  const outgoing = service.begin(request, (message, isLast) => {
    if (message !== undefined) messages += 1;
    isOver = isLast;
  });
  for (let turns = 0; !isOver && turns < 100; turns += 1) outgoing.more();
  outgoing.end(isOver);
  return messages;
}

type Outcome = "granted" | "told" | "refused" | "silence";

const service = new TransferService({
  clock: createFakeClock(),
  onFinished() {},
  onError(error) {
    throw error;
  },
});
service.setKeys(transfer.keys);
service.addZone(served.live);
let requested: TransferRequest | undefined;
const respond = createResponder(served.state, createQueryCounters(), {
  onTransfer(request) {
    requested = request;
  },
});
const reply = new Uint8Array(65_536);

/** What becomes of one request. @throws Error if somebody gets what he may not have */
function outcomeOf(query: Buffer, from: string, transport: TransportIndex): Outcome {
  requested = undefined;
  const length = respond(query, 0, query.length, reply, 0, transport, clientAt(from));
  if (length === 0) return "silence";
  if (length === HANDED_OVER) {
    if (requested === undefined || !isEntitled(query, from)) throw new Error("granted");
    if (transferAll(requested) < 1) throw new Error("not transferred");
    return "granted";
  }
  const { answers, authorities, additionals } = parseMessage(reply.slice(0, length));
  const type = questionOf(query)?.type;
  if (type !== AXFR && type !== IXFR) return "refused";
  const records = [...answers, ...authorities, ...additionals].filter((one) => one.type !== TSIG);
  if (records.length === 0) return "refused";
  // Of an incremental transfer UDP tells the present SOA, to who may have it.
  if (!isEntitled(query, from) || records.some((one) => one.type !== "SOA")) throw new Error("told");
  return "told";
}

/** What became of requests. */
export type Outcomes = Readonly<Record<Outcome, number>>;

/**
 * Tries so many mutated requests.
 *
 * @param random 0 (included) to 1 (not included)
 * @throws Error with the request that harmed, or got what it may not have
 */
export function tryMutated(count: number, random: Random): Outcomes {
  const became = { granted: 0, told: 0, refused: 0, silence: 0 };
  for (let done = 0; done < count; done += 1) {
    const query = mutated(random);
    const from = pick(random, [LISTED, WITH_KEY, STRANGER]);
    try {
      became[outcomeOf(query, from, pick(random, [TRANSPORT.udp, TRANSPORT.tcp]))] += 1;
    } catch (error) {
      throw new Error(`${from} ${query.toString("hex")}`, { cause: error });
    }
  }
  const { running, waiting } = service.load;
  if (running + waiting > 0) throw new Error(`${running} transfers are under way, ${waiting} wait`);
  return became;
}
