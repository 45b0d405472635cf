import { expect, test } from "vitest";
import { AnswerTable } from "../../src/answers/table.js";
import { clientAt } from "../../src/query/client.js";
import { createQueryCounters, sumCounters, TRANSPORT } from "../../src/query/counters.js";
import { createDefectReporter, type QueryDefect } from "../../src/query/error-boundary.js";
import { createResponder } from "../../src/query/respond.js";
import { parseName } from "../../src/wire/name.js";
import { serveSketch } from "../answers/serve.js";
import { encodeQuery, parseMessage } from "../support/dns-message.js";

test("a query that makes the responder throw is one SERVFAIL and one report a second; others are answered", () => {
  const { table } = serveSketch({ endpoints: { api: { cp1: ["192.0.2.1"] } } });
  const death = parseName("death.k8s.example.test.");
  const find = table.find.bind(table);
  table.find = (name, ...rest) => {
    if (name.is(death)) throw new RangeError("query of death");
    return find(name, ...rest);
  };
  const counters = createQueryCounters();
  const reports: QueryDefect[] = [];
  let now = 5_000;
  const onDefect = createDefectReporter(
    (defect) => reports.push(defect),
    () => now,
  );
  const respond = createResponder({ table, ready: true }, counters, { onDefect });
  const reply = new Uint8Array(1_232);
  const client = clientAt("192.0.2.9");
  const ask = (id: number, name: string) => {
    const bytes = encodeQuery({ id, name: `${name}.k8s.example.test`, rd: true, edns: {} });
    return parseMessage(reply.subarray(0, respond(bytes, 0, bytes.length, reply, 0, TRANSPORT.udp, client)));
  };

  for (let i = 0; i < 10; i += 1) {
    expect(ask(0xdead, "death")).toMatchObject({
      id: 0xdead,
      rcode: "SERVFAIL",
      questions: [],
      flags: { qr: true, rd: true, aa: false },
    });
    expect(ask(i, "api")).toMatchObject({ id: i, rcode: "NOERROR", answers: [{ rdata: "192.0.2.1" }] });
  }
  expect(reports).toHaveLength(1);
  expect(reports[0]).toMatchObject({ unreported: 0, query: expect.stringMatching(/^dead01000001/) });
  expect(reports[0]?.error).toContain("RangeError: query of death");

  now += 1_000;
  ask(0xdead, "death");
  expect(reports).toHaveLength(2);
  expect(reports[1]?.unreported).toBe(9);
  expect(sumCounters([counters.memory]).responses.find(({ rcode }) => rcode === 2)?.count).toBe(11);
});

test("what has no header gets no reply, and a report shows no more than 512 octets", () => {
  const table = new AnswerTable();
  table.find = () => {
    throw new Error("always");
  };
  const reports: QueryDefect[] = [];
  const onDefect = createDefectReporter(
    (defect) => reports.push(defect),
    () => 0,
  );
  const respond = createResponder({ table, ready: true }, createQueryCounters(), { onDefect });
  const reply = new Uint8Array(1_232);
  const ask = (query: Uint8Array) => respond(query, 0, query.length, reply, 0, TRANSPORT.udp, clientAt("::1"));
  expect(ask(new Uint8Array(11))).toBe(0);
  // With an OPT record whose one option fills it up.
  const query = new Uint8Array(8_000);
  query.set(encodeQuery({ name: "api.k8s.example.test" }));
  const optAt = encodeQuery({ name: "api.k8s.example.test" }).length;
  const dataLength = query.length - optAt - 11;
  query[11] = 1;
  query.set([0, 0, 41, 4, 208, 0, 0, 0, 0, dataLength >>> 8, dataLength & 0xff], optAt);
  query.set([0xff, 0xff, (dataLength - 4) >>> 8, (dataLength - 4) & 0xff], optAt + 11);
  expect(ask(query)).toBe(12);
  expect(reports[0]?.query).toHaveLength(1_024);
});
