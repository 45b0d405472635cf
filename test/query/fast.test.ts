import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createQueryCounters, sumCounters } from "../../src/query/counters.js";
import { createFastResponder, NOT_FAST } from "../../src/query/fast.js";
import { createResponder } from "../../src/query/respond.js";
import { serveSketch } from "../answers/serve.js";
import { CLIENT, encode, keptCookie, policy, questions, SKETCH } from "./questions.js";

const served = serveSketch(SKETCH);

const AT = 64;
const REPLY_AT = 32;

/** The octets that each path gives for a query, from tables at the same turn; `undefined` where the fast path declines. */
function bothPaths(query: Uint8Array): { general: Buffer; fast: Buffer | undefined } {
  const state = { table: served.table, ready: true, policy };
  const turns = served.table.answers.slice();
  const reply = new Uint8Array(65_535);
  const length = createResponder(state, createQueryCounters())(query, query.length, reply, "udp", CLIENT);
  const general = Buffer.from(reply.subarray(0, length));
  served.table.answers.set(turns);

  // Elsewhere in larger buffers that hold rubbish, as the slots of a batch do.
  const request = new Uint8Array(AT + query.length + 700).fill(0xa5);
  request.set(query, AT);
  const slot = new Uint8Array(REPLY_AT + 1344).fill(0x5a);
  const fastLength = createFastResponder(state, createQueryCounters())(
    request,
    AT,
    query.length,
    slot,
    REPLY_AT,
    CLIENT,
  );
  return {
    general,
    fast: fastLength === NOT_FAST ? undefined : Buffer.from(slot.subarray(REPLY_AT, REPLY_AT + fastLength)),
  };
}

describe("the fast path", () => {
  test("gives the same octets as the general one, or none", () => {
    let taken = 0;
    fc.assert(
      fc.property(questions, (question) => {
        const { general, fast } = bothPaths(encode(question));
        if (fast === undefined) return;
        taken += 1;
        expect(fast.toString("hex")).toBe(general.toString("hex"));
      }),
      { numRuns: 5_000 },
    );
    expect(taken).toBeGreaterThan(1_000);
  });

  test("gives the same octets for queries with any octet changed", () => {
    fc.assert(
      fc.property(
        questions,
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 }),
        (question, changes) => {
          const query = encode(question);
          for (const [at, octet] of changes) query[at % query.length] = octet;
          const { general, fast } = bothPaths(query);
          if (fast !== undefined) expect(fast.toString("hex")).toBe(general.toString("hex"));
        },
      ),
      { numRuns: 5_000 },
    );
  });

  test("takes what clients send: plain and EDNS questions for every kind of answer", () => {
    for (const name of ["api", "nope", "x.wild", "host.child", "alias", "registry"]) {
      for (const udpOctets of [undefined, 1232]) {
        const query = encode({ name: `${name}.k8s.example.test`, type: 1, rd: true, udpOctets, dnssecOk: false });
        expect(bothPaths(query).fast, `${name} ${udpOctets}`).toBeDefined();
      }
    }
  });

  test("answers cookies: new ones, ones that are kept or renewed, and forged ones", () => {
    const client = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
    const cookies = [client, keptCookie(client, 10), keptCookie(client, 2_000), keptCookie(client, 4_000)];
    for (const cookie of [...cookies, new Uint8Array(24)]) {
      for (const name of ["api", "nope", "many"]) {
        const question = { name: `${name}.k8s.example.test`, type: 1, rd: true, udpOctets: 512, dnssecOk: true };
        const { general, fast } = bothPaths(encode({ ...question, cookie }));
        expect(fast?.toString("hex")).toBe(general.toString("hex"));
      }
    }
  });

  test("declines while the server is silent", () => {
    const query = encode({ name: "api.k8s.example.test", type: 1, rd: true, udpOctets: undefined, dnssecOk: false });
    const fast = createFastResponder({ table: served.table, ready: false }, createQueryCounters());
    expect(fast(query, 0, query.length, new Uint8Array(1344), 0, CLIENT)).toBe(NOT_FAST);
  });

  test("counts as the general path does", () => {
    const state = { table: served.table, ready: true, policy };
    const count = (isFast: boolean) => {
      const counters = createQueryCounters();
      const fast = createFastResponder(state, counters);
      const respond = createResponder(state, counters);
      for (const [name, type] of [
        ["api", 1],
        ["nope", 28],
        ["big", 16],
      ] as const) {
        const query = encode({
          name: `${name}.k8s.example.test`,
          type,
          rd: true,
          udpOctets: undefined,
          dnssecOk: false,
        });
        const reply = new Uint8Array(65_535);
        if (isFast) expect(fast(query, 0, query.length, reply, 0, CLIENT)).not.toBe(NOT_FAST);
        else respond(query, query.length, reply, "udp", CLIENT);
      }
      return sumCounters([counters.memory]);
    };
    expect(count(true)).toEqual(count(false));
    expect(count(true).truncated).toBe(1);
  });
});
