import { describe, expect, test } from "vitest";
import { clientAt } from "../../src/query/client.js";
import { createRateLimiter, type RateVerdict } from "../../src/query/rate-limit.js";

const SETTINGS = { perSecond: 10, slip: 2, ipv4Prefix: 24, ipv6Prefix: 56 };

/** A limiter on a clock that stands still until it is moved. */
function limiter(settings: Partial<typeof SETTINGS> = {}) {
  const clock = { now: 1_000 };
  const limit = createRateLimiter({ ...SETTINGS, ...settings }, () => clock.now, 12_345);
  const ask = (from: string, times: number): Record<RateVerdict, number> => {
    const counts = { send: 0, slip: 0, drop: 0 };
    for (let i = 0; i < times; i += 1) counts[limit.judge(clientAt(from))] += 1;
    return counts;
  };
  return { clock, ask };
}

describe("responses to one prefix", () => {
  test("a second's worth at once, then every other one cut", () => {
    expect(limiter().ask("192.0.2.1", 30)).toEqual({ send: 10, slip: 10, drop: 10 });
  });

  test.each([
    { slip: 0, expected: { send: 10, slip: 0, drop: 20 } },
    { slip: 1, expected: { send: 10, slip: 20, drop: 0 } },
    { slip: 5, expected: { send: 10, slip: 4, drop: 16 } },
  ])("slip $slip", ({ slip, expected }) => {
    expect(limiter({ slip }).ask("192.0.2.1", 30)).toEqual(expected);
  });

  test("come back at the rate, up to a second's worth", () => {
    const { clock, ask } = limiter();
    ask("192.0.2.1", 30);
    clock.now += 500;
    expect(ask("192.0.2.1", 30).send).toBe(5);
    clock.now += 60_000;
    expect(ask("192.0.2.1", 30).send).toBe(10);
  });

  test("at the rate itself are never limited", () => {
    const { clock, ask } = limiter();
    for (let i = 0; i < 1_000; i += 1) {
      expect(ask("192.0.2.1", 1).send).toBe(1);
      clock.now += 100;
    }
  });

  test("are counted together, others apart", () => {
    const { ask } = limiter();
    expect(ask("192.0.2.1", 10).send).toBe(10);
    expect(ask("192.0.2.254", 10).send).toBe(0);
    expect(ask("192.0.3.1", 10).send).toBe(10);
    expect(ask("2001:db8:0:1::1", 10).send).toBe(10);
    expect(ask("2001:db8:0:ff::1", 10).send).toBe(0);
    expect(ask("2001:db8:0:100::1", 10).send).toBe(10);
  });

  test.each([8, 9, 15, 16, 17, 24, 25, 31, 32])("/%i of IPv4", (ipv4Prefix) => {
    const flipped = (bit: number) => {
      const octets = [192, 0, 2, 1];
      octets[bit >> 3] = (octets[bit >> 3] ?? 0) ^ (0x80 >> (bit & 7));
      return octets.join(".");
    };
    const { ask } = limiter({ ipv4Prefix });
    ask("192.0.2.1", 10);
    if (ipv4Prefix < 32) expect(ask(flipped(ipv4Prefix), 1).send).toBe(0);
    expect(ask(flipped(ipv4Prefix - 1), 1).send).toBe(1);
  });
});

test("an address is read where it stands", () => {
  const limit = createRateLimiter({ ...SETTINGS, perSecond: 1 }, () => 0, 1);
  const octets = Uint8Array.of(192, 0, 2, 1, 198, 51, 100, 1, 192, 0, 2, 9);
  expect(limit.judge({ octets, at: 0, length: 4 })).toBe("send");
  expect(limit.judge({ octets, at: 4, length: 4 })).toBe("send");
  expect(limit.judge({ octets, at: 8, length: 4 })).not.toBe("send");
});

test("a flood from more prefixes than there is room for blocks nobody", () => {
  const { ask } = limiter();
  for (let i = 0; i < 100_000; i += 1) ask(`${(i >> 16) + 11}.${(i >> 8) & 255}.${i & 255}.1`, 1);
  expect(ask("192.0.2.1", 10).send).toBe(10);
});

test("one prefix at ten times the limit takes nothing from a hundred others", () => {
  const { clock, ask } = limiter();
  let lost = 0;
  let sent = 0;
  for (let tick = 0; tick < 100; tick += 1) {
    clock.now += 100;
    sent += ask("198.51.100.7", 10).send;
    for (let i = 0; i < 100; i += 1) lost += 1 - ask(`10.0.${i}.1`, 1).send;
  }
  expect(lost).toBe(0);
  // The burst, and one every 100 ms.
  expect(sent).toBe(10 + 99);
});
