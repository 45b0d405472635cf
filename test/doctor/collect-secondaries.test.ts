import { describe, expect, test } from "vitest";
import { collectSecondaries, serialIn } from "../../src/doctor/collect-secondaries.js";
import type { Asker, Heard } from "../../src/doctor/facts.js";
import { createFakeClock } from "../support/fake-clock.js";
import { heardReply, silence } from "./replies.js";

const ZONE = "k8s.example.com";
const at = (address: string) => ({ address, port: 53 });
const soa = (serial: number, change = {}): Heard =>
  heardReply({
    aa: true,
    answers: [{ name: ZONE, type: "SOA", ttl: 5, data: `ns1.${ZONE}. host.${ZONE}. ${serial} 60 30 1209600 5` }],
    ...change,
  });

/** Each server gives its replies one after the other, and then the last one again. */
function asking(replies: Readonly<Record<string, readonly Heard[]>>) {
  const asked: string[] = [];
  const ask: Asker = ({ server: { address } }) => {
    const index = asked.filter((one) => one === address).length;
    asked.push(address);
    const those = replies[address] ?? [];
    return Promise.resolve(those[Math.min(index, those.length - 1)] ?? silence);
  };
  return { ask, asked };
}

async function collected(replies: Readonly<Record<string, readonly Heard[]>>, known: readonly number[] = []) {
  const clock = createFakeClock();
  const { ask, asked } = asking(replies);
  const done = collectSecondaries(ask, clock, ZONE, [at("10.0.0.1"), at("10.0.0.2")], [at("127.0.0.1")], known);
  await clock.advance(10_000);
  return { ...(await done), asked };
}

describe("the serial that secondaries should have", () => {
  test("is livezone's own, where it runs here", async () => {
    expect(await collected({ "127.0.0.1": [soa(9)], "10.0.0.1": [soa(8)], "10.0.0.2": [soa(9)] })).toMatchObject({
      serial: 9,
    });
  });

  test("is else the latest that anyone gave, in the sense of serials", async () => {
    expect(await collected({ "10.0.0.1": [soa(2 ** 32 - 1)], "10.0.0.2": [soa(3)] })).toMatchObject({ serial: 3 });
    expect(await collected({ "10.0.0.1": [soa(1)] }, [5])).toMatchObject({ serial: 5 });
    expect((await collected({})).serial).toBeUndefined();
  });
});

test("one that is behind is asked again a moment later, the others are not", async () => {
  const { asked, secondaries } = await collected({
    "127.0.0.1": [soa(9)],
    "10.0.0.1": [soa(8), soa(9)],
    "10.0.0.2": [soa(9)],
  });
  expect(asked.sort()).toEqual(["10.0.0.1", "10.0.0.1", "10.0.0.2", "127.0.0.1"]);
  expect(secondaries.map((one) => serialIn(one.soa))).toEqual([9, 9]);
});

test("nobody is asked where there are none", async () => {
  const { ask, asked } = asking({});
  expect(await collectSecondaries(ask, createFakeClock(), ZONE, [], [at("127.0.0.1")], [5])).toEqual({
    secondaries: [],
  });
  expect(asked).toEqual([]);
});

test("a serial counts in an authoritative answer only", () => {
  expect(serialIn(soa(9))).toBe(9);
  expect(serialIn(soa(9, { aa: false }))).toBeUndefined();
  expect(serialIn(soa(9, { rcode: "SERVFAIL" }))).toBeUndefined();
  expect(serialIn(silence)).toBeUndefined();
});
