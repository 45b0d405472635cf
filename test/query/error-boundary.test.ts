import { expect, test } from "vitest";
import { clientAt } from "../../src/query/client.js";
import { createQueryCounters, sumCounters } from "../../src/query/counters.js";
import { createDefectReporter, isolate, type QueryDefect } from "../../src/query/error-boundary.js";
import { serveSketch } from "../answers/serve.js";
import { encodeQuery, parseMessage } from "../support/dns-message.js";

test("a query that makes the responder throw is one SERVFAIL and one report a second; others are answered", () => {
  const served = serveSketch({ endpoints: { api: { cp1: ["192.0.2.1"] } } });
  const counters = createQueryCounters();
  const reports: QueryDefect[] = [];
  let now = 5_000;
  const respond = isolate(
    (request, length, reply, transport, client) => {
      if (request[0] === 0xde && request[1] === 0xad) throw new RangeError("query of death");
      return served.respond(request, length, reply, transport, client);
    },
    counters,
    createDefectReporter(
      (defect) => reports.push(defect),
      () => now,
    ),
  );
  const reply = new Uint8Array(1_232);
  const ask = (id: number, length?: number) => {
    const bytes = encodeQuery({ id, name: "api.k8s.example.test", rd: true, edns: {} });
    return parseMessage(reply.subarray(0, respond(bytes, length ?? bytes.length, reply, "udp", clientAt("192.0.2.9"))));
  };

  for (let i = 0; i < 10; i += 1) {
    expect(ask(0xdead)).toMatchObject({
      id: 0xdead,
      rcode: "SERVFAIL",
      questions: [],
      flags: { qr: true, rd: true, aa: false },
    });
    expect(ask(i)).toMatchObject({ id: i, rcode: "NOERROR", answers: [{ rdata: "192.0.2.1" }] });
  }
  expect(reports).toHaveLength(1);
  expect(reports[0]).toMatchObject({ unreported: 0, query: expect.stringMatching(/^dead01000001/) });
  expect(reports[0]?.error).toContain("RangeError: query of death");

  now += 1_000;
  ask(0xdead);
  expect(reports).toHaveLength(2);
  expect(reports[1]?.unreported).toBe(9);
  expect(sumCounters([counters.memory]).responses.find(({ rcode }) => rcode === 2)?.count).toBe(11);
});

test("what has no header gets no reply, and a report shows no more than 512 octets", () => {
  const reports: QueryDefect[] = [];
  const fail = () => {
    throw new Error("always");
  };
  const reporter = () =>
    createDefectReporter(
      (defect) => reports.push(defect),
      () => 0,
    );
  const from = clientAt("::1");
  const reply = new Uint8Array(1_232);
  expect(isolate(fail, createQueryCounters(), reporter())(new Uint8Array(11), 11, reply, "udp", from)).toBe(0);
  expect(isolate(fail, createQueryCounters(), reporter())(new Uint8Array(8_000), 8_000, reply, "udp", from)).toBe(12);
  expect(reports[1]?.query).toHaveLength(1_024);
});
