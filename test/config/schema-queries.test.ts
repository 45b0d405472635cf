import { describe, expect, test } from "vitest";
import { z } from "zod";
import { builtIn } from "../../src/config/option.js";
import { queryOptions, rateLimitOptions, tcpOptions } from "../../src/config/schema-queries.js";

const queries = z.strictObject(queryOptions);

/** What is wrong with an option, as `CODE: why`. */
function faultOf(written: object): string {
  const result = queries.safeParse(written);
  const [issue] = result.error?.issues ?? [];
  const { code, why } = (issue?.code === "custom" ? issue.params : {}) as { code?: string; why?: string };
  return `${code}: ${why}`;
}

test("everything may be left out", () => {
  expect(queries.parse({})).toEqual({});
  expect(queries.parse({ tcp: {} })).toEqual({ tcp: {} });
});

test("the defaults are values that could be written", () => {
  const { slip, ipv4Prefix, ipv6Prefix } = rateLimitOptions;
  expect([slip, ipv4Prefix, ipv6Prefix].map((option) => builtIn(option))).toEqual([2, 24, 56]);
  const { maxConnections, maxPerClient, idleTimeout } = tcpOptions;
  expect([maxConnections, maxPerClient, idleTimeout].map((option) => builtIn(option))).toEqual([2_000, 200, 10_000]);
});

describe("what the server says of itself", () => {
  test.each(["identity", "version"])("%s takes 1 to 128 printable ASCII characters", (key) => {
    for (const value of ["a", "site a~!", "x".repeat(128)])
      expect(queries.parse({ [key]: value })).toEqual({ [key]: value });
    expect(faultOf({ [key]: "x".repeat(129) })).toBe("CONFIG_IDENTITY: it is 129 characters long");
    expect(faultOf({ [key]: "" })).toBe("CONFIG_IDENTITY: that is empty");
    expect(faultOf({ [key]: "tab\there" })).toBe("CONFIG_IDENTITY: only printable ASCII can be sent");
    expect(faultOf({ [key]: "é" })).toBe("CONFIG_IDENTITY: only printable ASCII can be sent");
    expect(faultOf({ [key]: 1.2 })).toBe("CONFIG_TYPE: that is not text");
  });
});

describe("limits", () => {
  test.each([
    { name: "a rate of nothing", written: { rateLimit: { perSecond: 0 } }, why: "the least is 1" },
    { name: "a rate beyond any", written: { rateLimit: { perSecond: 1_000_001 } }, why: "the most is 1000000" },
    { name: "slip", written: { rateLimit: { perSecond: 1, slip: 11 } }, why: "the most is 10" },
    { name: "a wide IPv4 prefix", written: { rateLimit: { perSecond: 1, ipv4Prefix: 7 } }, why: "the least is 8" },
    { name: "a long IPv4 prefix", written: { rateLimit: { perSecond: 1, ipv4Prefix: 33 } }, why: "the most is 32" },
    { name: "a wide IPv6 prefix", written: { rateLimit: { perSecond: 1, ipv6Prefix: 15 } }, why: "the least is 16" },
    { name: "a long IPv6 prefix", written: { rateLimit: { perSecond: 1, ipv6Prefix: 129 } }, why: "the most is 128" },
    { name: "no connections", written: { tcp: { maxConnections: 0 } }, why: "the least is 1" },
    { name: "no connections of a client", written: { tcp: { maxPerClient: 0 } }, why: "the least is 1" },
    { name: "a short idle time", written: { tcp: { idleTimeout: "999ms" } }, why: "the least is 1s" },
    { name: "a long idle time", written: { tcp: { idleTimeout: "11m" } }, why: "the most is 10m" },
  ])("$name is refused: $why", ({ written, why }) => {
    expect(faultOf(written)).toBe(`CONFIG_RANGE: ${why}`);
  });

  test("a rate limit names its rate", () => {
    expect(queries.safeParse({ rateLimit: {} }).success).toBe(false);
    expect(queries.parse({ rateLimit: { perSecond: 1, slip: 0 } })).toEqual({ rateLimit: { perSecond: 1, slip: 0 } });
  });
});

test("who is answered may be one range or several", () => {
  expect(queries.parse({ allow: "10.0.0.0/8" })).toEqual({ allow: [{ address: "10.0.0.0", bits: 8 }] });
  expect(queries.parse({ allow: ["::1", "10.0.0.0/8"] })).toEqual({
    allow: [
      { address: "::1", bits: 128 },
      { address: "10.0.0.0", bits: 8 },
    ],
  });
});
