import { describe, expect, test } from "vitest";
import type { TransferRequest } from "../../src/transfer/request.js";
import {
  type FinishedTransfer,
  MAX_TRANSFERS,
  MAX_TRANSFERS_PER_CLIENT,
  type OutgoingTransfer,
  TransferService,
} from "../../src/transfer/service.js";
import { TYPE } from "../../src/wire/constants.js";
import { parseName } from "../../src/wire/name.js";
import type { LiveZone } from "../../src/zone/live-zone.js";
import { parseMessage } from "../support/dns-message.js";
import { createFakeClock } from "../support/fake-clock.js";
import { CORP } from "./signing.js";
import { answerWith, liveZone } from "./zones.js";

const ZONE = parseName("k8s.example.test");

function serve(live: LiveZone = liveZone()) {
  const finished: FinishedTransfer[] = [];
  const errors: unknown[] = [];
  const service = new TransferService({
    clock: createFakeClock(),
    onFinished: (one) => finished.push(one),
    onError: (error) => errors.push(error),
  });
  service.setVersions(new Map([[ZONE, 100]]));
  service.addZone(live);
  /** Begins a transfer; `parts` fills as it is given leave. */
  const begin = (question: Partial<TransferRequest>) => {
    const parts: (Uint8Array | undefined)[] = [];
    const state = { isLast: false };
    const request = {
      id: 7,
      zone: ZONE,
      type: TYPE.AXFR,
      rd: false,
      hasEdns: false,
      client: "192.0.2.53",
      ...question,
    };
    const transfer: OutgoingTransfer = service.begin(request, (message, isLast) => {
      parts.push(message);
      state.isLast = isLast;
    });
    return { transfer, parts, state, message: () => parseMessage(parts[0] ?? new Uint8Array(0)) };
  };
  return { live, service, begin, finished, errors };
}

/** Changes the zone so many times, and tells the service. */
function change({ live, service }: ReturnType<typeof serve>, times: number): number[] {
  return Array.from({ length: times }, (_, i) => {
    const { serial } = live;
    const changed = answerWith(live, i % 2 === 0 ? ["cp1"] : ["cp1", "cp2"]);
    if (changed !== undefined) service.change(changed);
    return serial;
  });
}

const soas = (records: readonly { readonly type: string; readonly rdata: string }[]) =>
  records.filter(({ type }) => type === "SOA").map(({ rdata }) => Number(rdata.split(" ")[2]));

describe("a transfer", () => {
  test("of all begins and ends with the SOA", () => {
    const { begin, live, finished } = serve();
    const { transfer, message, state } = begin({});
    expect(state.isLast).toBe(true);
    expect(soas(message().answers)).toEqual([live.serial, live.serial]);
    expect(message().answers.length).toBeGreaterThan(10);
    transfer.end(true);
    expect(finished).toMatchObject([{ kind: "axfr", serial: live.serial, client: "192.0.2.53", isComplete: true }]);
  });

  test("from every kept serial is one difference", () => {
    const served = serve();
    const serials = change(served, 50);
    for (const serial of serials) {
      const { transfer, message } = served.begin({ type: TYPE.IXFR, serial });
      const now = served.live.serial;
      expect(soas(message().answers)).toEqual([now, serial, now, now]);
      transfer.end(true);
    }
    expect(new Set(served.finished.map(({ kind }) => kind))).toEqual(new Set(["ixfr"]));
  });

  test("of what went names each record as it was, between the old SOA and the new one", () => {
    const served = serve();
    const { serial } = served.live;
    const changed = answerWith(served.live, ["cp1", "cp2", "cp4"]);
    if (changed !== undefined) served.service.change(changed);
    const { answers } = served.begin({ type: TYPE.IXFR, serial }).message();
    expect(
      answers.map(({ owner, ttl, type, rdata }) => (type === "SOA" ? "SOA" : `${owner} ${ttl} ${type} ${rdata}`)),
    ).toEqual([
      "SOA",
      "SOA",
      "api.k8s.example.test. 5 A 192.0.2.13",
      "api.k8s.example.test. 5 AAAA 2001:db8::13",
      "cp3.api.k8s.example.test. 5 A 192.0.2.13",
      "cp3.api.k8s.example.test. 5 AAAA 2001:db8::13",
      "_https._tcp.api.k8s.example.test. 5 SRV 0 1 6443 cp3.api.k8s.example.test.",
      "SOA",
      "SOA",
    ]);
    expect(soas(answers)).toEqual([serial + 1, serial, serial + 1, serial + 1]);
  });

  const OTHERS = [
    { name: "the present serial", offset: 0, kind: "current" },
    { name: "a serial to come", offset: 5, kind: "current" },
    { name: "a serial that was never", offset: -1_000, kind: "axfr" },
  ];
  test.each(OTHERS)("from $name: $kind", ({ offset, kind }) => {
    const served = serve();
    change(served, 3);
    const { transfer, message } = served.begin({ type: TYPE.IXFR, serial: served.live.serial + offset });
    transfer.end(true);
    expect(served.finished[0]?.kind).toBe(kind);
    expect(message().answers.length === 1).toBe(kind === "current");
  });

  test("from 0 is whole, and so it is from a state that is not kept any more", () => {
    const served = serve();
    const [oldest = 0] = change(served, 5);
    served.service.setVersions(new Map([[ZONE, 2]]));
    for (const serial of [0, oldest]) served.begin({ type: TYPE.IXFR, serial }).transfer.end(true);
    expect(served.finished.map(({ kind }) => kind)).toEqual(["axfr", "axfr"]);
  });

  test("is signed with the key that signed the request", () => {
    const { begin, service } = serve();
    service.setKeys(new Map([[CORP.name, CORP]]));
    const { message } = begin({ signature: { key: CORP.name, mac: new Uint8Array(32) } });
    expect(message().additionals).toMatchObject([{ owner: "corp." }]);
  });

  test("whose key has gone with a reload is cut", () => {
    const { parts, state } = serve().begin({ signature: { key: CORP.name, mac: new Uint8Array(32) } });
    expect(parts).toEqual([undefined]);
    expect(state.isLast).toBe(true);
  });

  test("of a zone that has gone with a reload is SERVFAIL", () => {
    const { begin, service } = serve();
    service.removeZone(ZONE);
    expect(begin({}).message()).toMatchObject({ rcode: "SERVFAIL", answers: [] });
  });

  test("shows one state, however the zone changes meanwhile", () => {
    const served = serve();
    const slow = served.begin({});
    const serial = served.live.serial;
    change(served, 3);
    slow.transfer.more();
    expect(soas(slow.message().answers)).toEqual([serial, serial]);
  });
});

describe("at once", () => {
  test(`at most ${MAX_TRANSFERS_PER_CLIENT} go to one secondary; the next waits for its turn`, () => {
    const { begin, service } = serve();
    const transfers = [begin({}), begin({}), begin({})];
    expect(transfers.map(({ parts }) => parts.length)).toEqual([1, 1, 0]);
    expect(service.load).toEqual({ running: 2, waiting: 1 });
    transfers[0]?.transfer.end(true);
    expect(transfers[2]?.parts).toHaveLength(1);
  });

  test(`at most ${MAX_TRANSFERS} are under way; one that is given up makes room`, () => {
    const { begin, service, finished } = serve();
    const transfers = Array.from({ length: 10 }, (_, i) => begin({ client: `192.0.2.${i}` }));
    expect(transfers.map(({ parts }) => parts.length)).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 0, 0]);
    transfers[9]?.transfer.end(false);
    expect(service.load).toEqual({ running: 8, waiting: 1 });
    transfers[3]?.transfer.end(false);
    expect(transfers[8]?.parts).toHaveLength(1);
    expect(finished).toMatchObject([{ client: "192.0.2.3", isComplete: false }]);
    for (const { transfer } of transfers) transfer.end(true);
    expect(service.load).toEqual({ running: 0, waiting: 0 });
  });

  test("more than a thousand do not wait: they are told SERVFAIL", () => {
    const { begin } = serve();
    for (let i = 0; i < 1_002; i += 1) begin({});
    expect(begin({}).message().rcode).toBe("SERVFAIL");
  });
});

test("memory is bounded over all zones: with many of them each keeps fewer states", () => {
  const served = serve();
  const names = Array.from({ length: 3_000 }, (_, i) => parseName(`z${i}.example.test`));
  served.service.setVersions(new Map([[ZONE, 1_000], ...names.map((name) => [name, 1_000] as const)]));
  const [oldest = 0] = change(served, 200);
  served.begin({ type: TYPE.IXFR, serial: oldest }).transfer.end(true);
  served.begin({ type: TYPE.IXFR, serial: served.live.serial - 5 }).transfer.end(true);
  expect(served.finished.map(({ kind }) => kind)).toEqual(["axfr", "ixfr"]);
});
