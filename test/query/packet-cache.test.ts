import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createQueryCounters, sumCounters } from "../../src/query/counters.js";
import { createFastResponder, NOT_FAST, type RespondFast } from "../../src/query/fast.js";
import { createReadyMade } from "../../src/query/packet-cache.js";
import { createResponder } from "../../src/query/respond.js";
import { createBuffers } from "../../src/transport/batch/buffers.js";
import { type ServedZone, serveSketch } from "../answers/serve.js";
import { parseMessage } from "../support/dns-message.js";
import { CLIENT, encode, keptCookie, policy, questions, SKETCH } from "./questions.js";

/** A served zone asked by both paths; each takes the same turn. */
function bothPaths(served: ServedZone, capacity?: number) {
  const { state } = served;
  state.policy = policy;
  const { receive, receiveSlot, send, sendSlot } = createBuffers();
  const counters = createQueryCounters();
  const fast = createFastResponder(state, counters);
  let made = 0;
  const makeReply: RespondFast = (...query) => {
    made += 1;
    return fast(...query);
  };
  const readyMade = createReadyMade(state, counters, makeReply, receive, send, capacity);
  const respond = createResponder(state, createQueryCounters());
  const reply = new Uint8Array(65_535);
  let slot = 0;
  return {
    counters,
    /** Replies that were not ready. */
    made: () => made,
    ask(query: Uint8Array): { general: string; readyMade: string | undefined } {
      slot = (slot + 1) % 64;
      receive.fill(0xa5, slot * receiveSlot, (slot + 1) * receiveSlot).set(query, slot * receiveSlot);
      send.fill(0x5a, slot * sendSlot, (slot + 1) * sendSlot);
      const turns = state.table.answers.slice();
      const length = respond(query, query.length, reply, "udp", CLIENT);
      state.table.answers.set(turns);
      const at = slot * sendSlot;
      const ready = readyMade(slot * receiveSlot, query.length, at, CLIENT);
      return {
        general: Buffer.from(reply.subarray(0, length)).toString("hex"),
        readyMade: ready === NOT_FAST ? undefined : Buffer.from(send.subarray(at, at + ready)).toString("hex"),
      };
    },
  };
}

const api = encode({ name: "api.k8s.example.test", type: 1, rd: true, udpOctets: undefined, dnssecOk: false });

describe("ready-made replies", () => {
  test("are the octets of the general path, however often and in whatever order questions come", () => {
    const { ask } = bothPaths(serveSketch(SKETCH));
    fc.assert(
      fc.property(fc.array(questions, { minLength: 1, maxLength: 4 }), (asked) => {
        for (let round = 0; round < 8; round += 1) {
          for (const question of asked) {
            const { general, readyMade } = ask(encode(question));
            if (readyMade !== undefined) expect(readyMade).toBe(general);
          }
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test("are the octets of the general path for queries with any octet changed", () => {
    const { ask } = bothPaths(serveSketch(SKETCH));
    const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 2 });
    fc.assert(
      fc.property(questions, changes, (question, changed) => {
        const query = encode(question);
        ask(query);
        for (const [at, octet] of changed) query[at % query.length] = octet;
        for (let round = 0; round < 2; round += 1) {
          const { general, readyMade } = ask(query);
          if (readyMade !== undefined) expect(readyMade).toBe(general);
        }
      }),
      { numRuns: 3_000 },
    );
  });

  test("keep the spelling of each client, and id and RD of each query", () => {
    const { ask } = bothPaths(serveSketch(SKETCH));
    for (const name of ["api.k8s.example.test", "API.k8s.Example.TEST", "aPi.K8S.eXample.tesT"]) {
      for (const rd of [true, false]) {
        for (let round = 0; round < 3; round += 1) {
          const { general, readyMade } = ask(encode({ name, type: 1, rd, udpOctets: 1232, dnssecOk: false }));
          expect(readyMade).toBe(general);
        }
      }
    }
  });

  test("serve clients with cookies and without alike: the same reply, and each its cookie", () => {
    const { ask, made } = bothPaths(serveSketch(SKETCH));
    const question = { name: "api.k8s.example.test", type: 1, rd: true, udpOctets: 1232, dnssecOk: false };
    const client = (i: number) => Uint8Array.of(i, 2, 3, 4, 5, 6, 7, 8);
    const queries = [
      encode(question),
      ...[1, 2, 3].map((i) => encode({ ...question, cookie: client(i) })),
      ...[4, 5].map((i) => encode({ ...question, cookie: keptCookie(client(i), 60) })),
    ];
    const seen = new Set<string | undefined>();
    for (let round = 0; round < 12; round += 1) {
      for (const query of queries) {
        const { general, readyMade } = ask(query);
        expect(readyMade).toBe(general);
        seen.add(readyMade);
      }
    }
    // Six orders of the addresses, for six clients; each order was made once.
    expect(seen.size).toBe(6);
    expect(made()).toBe(6);
  });

  test("serve names that do not exist from what stood behind others of their length, in every zone and place", () => {
    const { ask, made } = bothPaths(serveSketch(SKETCH));
    const places = ["", "api.", "c.", "child.", "registry."];
    const lengths = [1, 2, 3, 4, 5, 9];
    const ways = [
      {},
      { udpOctets: 1232 },
      { udpOctets: 512, dnssecOk: true, cookie: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8) },
    ];
    for (let round = 0; round < 5; round += 1) {
      for (const place of places) {
        for (const length of lengths) {
          for (const way of ways) {
            const name = `${String(round).repeat(length)}.${place}k8s.example.test`;
            const plain = { name, type: 28, rd: round === 1, udpOctets: undefined, dnssecOk: false };
            const { general, readyMade } = ask(encode({ ...plain, ...way }));
            expect(readyMade).toBe(general);
          }
        }
      }
    }
    // Of all the places only the zone and the child answer differently.
    expect(made()).toBeLessThan(200);
  });

  test("do not mix types whose octets are letters: HTTPS is 65, an upper-case A, and 97 a lower-case one", () => {
    const { ask } = bothPaths(serveSketch({ records: "x IN TYPE65 \\# 1 00\nx IN TYPE97 \\# 1 01" }));
    for (const type of [65, 97, 65, 97]) {
      const { general, readyMade } = ask(
        encode({ name: "x.k8s.example.test", type, rd: false, udpOctets: undefined, dnssecOk: false }),
      );
      expect(readyMade).toBe(general);
    }
  });

  test("follow a change of health, and a new table, at once", () => {
    const served = serveSketch(SKETCH);
    const { ask } = bothPaths(served);
    const addresses = (): string[] => {
      const { readyMade = "" } = ask(api);
      return parseMessage(Buffer.from(readyMade, "hex"))
        .answers.map(({ rdata }) => rdata)
        .sort();
    };
    for (let i = 0; i < 20; i += 1) expect(addresses()).toHaveLength(3);
    served.setAnswer("api", { cp1: ["192.0.2.11"] });
    for (let i = 0; i < 5; i += 1) expect(addresses()).toEqual(["192.0.2.11"]);
    served.state.table = serveSketch({ ...SKETCH, endpoints: { api: { new: ["192.0.2.99"] } } }).table;
    for (let i = 0; i < 5; i += 1) expect(addresses()).toEqual(["192.0.2.99"]);
  });

  test("survive more questions than there is room for", () => {
    const records = Array.from({ length: 500 }, (_, i) => `n${i} IN A 192.0.2.1`).join("\n");
    const { ask } = bothPaths(serveSketch({ records }), 4096);
    for (let i = 0; i < 5_000; i += 1) {
      const type = [1, 28, 16, 15, 33, 2, 5][i % 7] ?? 1;
      const query = encode({
        name: `n${i % 500}.k8s.example.test`,
        type,
        rd: false,
        udpOctets: i % 2 === 0 ? 1232 : undefined,
        dnssecOk: i % 3 === 0,
      });
      const { general, readyMade } = ask(query);
      if (readyMade !== general) expect(readyMade).toBe(general);
    }
  });

  test("give every order of the addresses equally often", () => {
    const { ask } = bothPaths(serveSketch(SKETCH));
    const seen = new Map<string, number>();
    for (let i = 0; i < 600; i += 1) {
      const answers = parseMessage(Buffer.from(ask(api).readyMade ?? "", "hex")).answers.map(({ rdata }) => rdata);
      const order = answers.join(" ");
      seen.set(order, (seen.get(order) ?? 0) + 1);
    }
    expect([...seen.values()]).toEqual([100, 100, 100, 100, 100, 100]);
  });

  test("are counted as every other reply", () => {
    const { ask, counters } = bothPaths(serveSketch(SKETCH));
    for (let i = 0; i < 10; i += 1) ask(api);
    const { queries, responses } = sumCounters([counters.memory]);
    expect(queries.filter(({ count }) => count > 0)).toEqual([{ transport: "udp", type: "A", count: 10 }]);
    expect(responses.filter(({ count }) => count > 0)).toEqual([{ rcode: 0, count: 10 }]);
  });
});
