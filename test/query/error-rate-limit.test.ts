import { expect, test } from "vitest";
import { clientAt } from "../../src/query/client.js";
import { createQueryCounters, sumCounters, TRANSPORT } from "../../src/query/counters.js";
import { ERRORS_PER_SECOND, ErrorRateLimit } from "../../src/query/error-rate-limit.js";
import { createResponder } from "../../src/query/respond.js";
import { serveSketch } from "../answers/serve.js";
import { encodeQuery } from "../support/dns-message.js";

const client = clientAt("192.0.2.1");
const query = encodeQuery({ name: "api.k8s.example.test" });
/** Cut off within the question: FORMERR. */
const rubbish = query.subarray(0, 14);

function start() {
  const { state } = serveSketch({ endpoints: { api: { cp1: ["192.0.2.11"] } } });
  const counters = createQueryCounters();
  let now = 0;
  const respond = createResponder(state, counters, { errorLimit: new ErrorRateLimit(() => now) });
  const reply = new Uint8Array(65_535);
  const ask = (message: Uint8Array, transport: "udp" | "tcp" = "udp") =>
    respond(message, 0, message.length, reply, 0, TRANSPORT[transport], client) > 0;
  const answered = (count: number, transport?: "udp" | "tcp") =>
    Array.from({ length: count }, () => ask(rubbish, transport)).filter(Boolean).length;
  const dropped = () => sumCounters([counters.memory]).dropped.find(({ reason }) => reason === "malformed")?.count;
  return { ask, answered, dropped, advance: (ms: number) => (now += ms) };
}

test("so many errors a second are told over UDP, then no more until the second is over", () => {
  const { answered, dropped, advance } = start();
  expect(answered(ERRORS_PER_SECOND + 50)).toBe(ERRORS_PER_SECOND);
  expect(dropped()).toBe(50);
  advance(999);
  expect(answered(10)).toBe(0);
  advance(1);
  expect(answered(2 * ERRORS_PER_SECOND)).toBe(ERRORS_PER_SECOND);
});

test("queries, and everything over TCP, are answered all the same", () => {
  const { ask, answered } = start();
  answered(ERRORS_PER_SECOND);
  expect(ask(query)).toBe(true);
  expect(ask(query.with(2, 0x10)), "another opcode").toBe(false);
  expect(answered(10, "tcp")).toBe(10);
});
