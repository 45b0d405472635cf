import { closeSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { BatchClock } from "../../src/lib/clock.js";
import { createQueryCounters } from "../../src/query/counters.js";
import { createDefectReporter, type QueryDefect } from "../../src/query/error-boundary.js";
import { createPolicy, type PolicySettings } from "../../src/query/policy.js";
import { createResponder, type ResponderState } from "../../src/query/respond.js";
import { createCounters } from "../../src/transport/batch/buffers.js";
import { loadBatch } from "../../src/transport/batch/load.js";
import { BatchServer } from "../../src/transport/udp-batch.js";
import { parseName } from "../../src/wire/name.js";
import { serveSketch } from "../answers/serve.js";
import { afterThisTest } from "../support/cleanup.js";
import { ask } from "../support/dns-client.js";
import { createFakeClock } from "../support/fake-clock.js";
import { SKETCH } from "./harness.js";

const { transport: batch } = loadBatch();

const DEATH = parseName("death.k8s.example.test.");

/** Serves the sketch over the native part, from a table that throws when it is asked for `death`. */
function serveBatches(address: string, settings?: Partial<PolicySettings>) {
  if (batch === undefined) throw new Error("the native part was not built");
  const { table } = serveSketch(SKETCH);
  const find = table.find.bind(table);
  table.find = (name, ...rest) => {
    if (name.is(DEATH)) throw new RangeError("query of death");
    return find(name, ...rest);
  };
  const policy =
    settings && createPolicy({ cookieSecrets: [], tcpIdleMs: 10_000, ...settings }, createFakeClock(), () => 0.5);
  const state: ResponderState = { table, ready: true, ...(policy && { policy }) };
  const counters = createQueryCounters();
  const defects: QueryDefect[] = [];
  const onDefect = createDefectReporter(
    (defect) => defects.push(defect),
    () => 0,
  );
  const respond = createResponder(state, counters, { onDefect });
  const { fd, port } = batch.bind({ address, port: 0, kind: "udp", reusePort: false });
  const alarm = batch.alarm();
  // It shares this thread with the client.
  const server = new BatchServer(batch, respond, new BatchClock(createFakeClock()), alarm, 1);
  const listening = server.open({ address, port }, { fd, counters: createCounters() });
  server.start();
  afterThisTest(async () => {
    await listening.stop(0);
    server.stop();
    closeSync(fd);
    closeSync(alarm);
  });
  return { server: address, port, defects };
}

describe.skipIf(batch === undefined)(
  `batches${batch === undefined ? " (skipped: the native part was not built)" : ""}`,
  () => {
    test("a query that throws on its way is SERVFAIL and reported; the rest of the batch is answered", async () => {
      const to = serveBatches("127.0.0.1");
      const replies = await Promise.all(
        Array.from({ length: 20 }, (_, i) => ask({ ...to, name: `${i % 2 === 0 ? "death" : "api"}.k8s.example.test` })),
      );
      replies.forEach((reply, i) => {
        if (i % 2 === 0) expect(reply).toMatchObject({ rcode: "SERVFAIL", questions: [] });
        else expect(reply.answers).toHaveLength(3);
      });
      expect(to.defects).toHaveLength(1);
      expect(to.defects[0]?.error).toContain("query of death");
    });

    test.each(["127.0.0.1", "::1"])("tells clients apart: %s", async (address) => {
      const own =
        address === "::1"
          ? { octets: new Uint8Array(16).fill(1, 15), bits: 128 }
          : { octets: Uint8Array.of(127, 0, 0, 1), bits: 32 };
      const other = { octets: new Uint8Array(own.octets.length).fill(9), bits: own.bits };
      const question = { name: "api.k8s.example.test" };
      expect((await ask({ ...serveBatches(address, { allow: [other, own] }), ...question })).rcode).toBe("NOERROR");
      expect((await ask({ ...serveBatches(address, { allow: [other] }), ...question })).rcode).toBe("REFUSED");
    });

    test("remarks upon stale answers", async () => {
      const to = serveBatches("127.0.0.1", { isStale: true });
      const { edns } = await ask({ ...to, name: "api.k8s.example.test", edns: {} });
      expect(edns?.options).toMatchObject([{ code: 15 }]);
    });
  },
);
