import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseAddress, parseListenAddress, specialKind } from "../../src/config/address.js";
import { formatDuration, parseDuration } from "../../src/config/duration.js";
import { parseContact, parseName } from "../../src/config/name.js";
import type { Verdict } from "../../src/config/parse-result.js";
import { formatPath, quote } from "../../src/config/quote.js";
import { editDistance, suggest } from "../../src/config/suggest.js";

/** The value, or the code of the fault. */
function outcome<T>(verdict: Verdict<T>): T | string {
  return "value" in verdict ? verdict.value : verdict.code;
}

describe("durations", () => {
  test.each([
    ["500ms", 500],
    ["5s", 5000],
    ["2m", 120_000],
    ["1h", 3_600_000],
    ["1.5s", 1500],
    ["0.1s", 100],
    ["0s", 0],
    [5, "CONFIG_DURATION_UNIT"],
    ["5", "CONFIG_DURATION_UNIT"],
    ["5 s", "CONFIG_DURATION"],
    ["5S", "CONFIG_DURATION"],
    ["-5s", "CONFIG_DURATION"],
    ["1d", "CONFIG_DURATION"],
    ["1m30s", "CONFIG_DURATION"],
    ["0.5ms", "CONFIG_DURATION"],
    [`${"9".repeat(30)}h`, "CONFIG_DURATION"],
    ["", "CONFIG_DURATION"],
    [null, "CONFIG_DURATION"],
  ])("%j is %j", (text, expected) => {
    expect(outcome(parseDuration(text))).toBe(expected);
  });

  test("are read back as they were written", () => {
    fc.assert(
      fc.property(fc.nat(), (ms) => {
        expect(parseDuration(formatDuration(ms))).toEqual({ value: ms });
      }),
    );
    expect([0, 1, 1500, 60_000, 7_200_000].map(formatDuration)).toEqual(["0ms", "1ms", "1500ms", "1m", "2h"]);
  });
});

describe("addresses", () => {
  test.each([
    ["192.0.2.1", "192.0.2.1"],
    ["2001:DB8::1", "2001:db8::1"],
    // RFC 5952 §4.2.2: one group of zeros is not shortened; §4.2.3: the longest run is, of two the first.
    ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["2001:0:0:1:0:0:0:1", "2001:0:0:1::1"],
    ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    ["2001:0db8::0001", "2001:db8::1"],
    ["64:ff9b::192.0.2.33", "64:ff9b::c000:221"],
    ["::ffff:192.0.2.1", "CONFIG_ADDRESS"],
    ["fe80::1%eth0", "CONFIG_ADDRESS"],
    ["010.0.0.1", "CONFIG_ADDRESS"],
    ["0x0a.0.0.1", "CONFIG_ADDRESS"],
    ["10.1", "CONFIG_ADDRESS"],
    ["192.0.2.256", "CONFIG_ADDRESS"],
    ["192.0.2.0/24", "CONFIG_ADDRESS"],
    ["[2001:db8::1]", "CONFIG_ADDRESS"],
    [" 192.0.2.1", "CONFIG_ADDRESS"],
    [1, "CONFIG_ADDRESS"],
  ])("%j is %j", (text, expected) => {
    expect(outcome(parseAddress(text))).toBe(expected);
  });

  test.each([
    ["127.1.2.3", "a loopback address"],
    ["::1", "a loopback address"],
    ["169.254.0.1", "a link-local address"],
    ["febf::1", "a link-local address"],
    ["239.1.1.1", "a multicast address"],
    ["ff02::1", "a multicast address"],
    ["0.0.0.0", "an unspecified address"],
    ["::", "an unspecified address"],
    ["255.255.255.255", "the broadcast address"],
    ["10.0.0.1", undefined],
    ["192.0.2.1", undefined],
    ["100.64.0.1", undefined],
    ["fd00::1", undefined],
    ["2001:db8::1", undefined],
  ])("%s is %j", (address, expected) => {
    expect(specialKind(address)).toBe(expected);
  });

  test.each([
    ["192.0.2.1:53", { address: "192.0.2.1", port: 53 }],
    ["[::]:0", { address: "::", port: 0 }],
    ["[2001:DB8::1]:5300", { address: "2001:db8::1", port: 5300 }],
    ["[192.0.2.1]:53", "CONFIG_LISTEN_ADDRESS"],
    ["192.0.2.1", "CONFIG_LISTEN_ADDRESS"],
    ["*:53", "CONFIG_LISTEN_ADDRESS"],
    ["192.0.2.1:99999", "CONFIG_LISTEN_ADDRESS"],
    ["192.0.2.1:-1", "CONFIG_LISTEN_ADDRESS"],
    [53, "CONFIG_LISTEN_ADDRESS"],
  ])("%j to listen on is %j", (text, expected) => {
    expect(outcome<unknown>(parseListenAddress(text))).toEqual(expected);
  });
});

describe("names", () => {
  test.each([
    ["K8s.Example.com.", "hostname", "k8s.example.com"],
    ["_tcp.example", "any", "_tcp.example"],
    ["_tcp.example", "hostname", "CONFIG_NAME"],
    ["a".repeat(63), "hostname", "a".repeat(63)],
    ["a".repeat(64), "hostname", "CONFIG_NAME"],
    [`${"a.".repeat(126)}a`, "hostname", `${"a.".repeat(126)}a`],
    [`${"a.".repeat(127)}a`, "hostname", "CONFIG_NAME"],
    ["-a", "hostname", "CONFIG_NAME"],
    ["a-.b", "hostname", "CONFIG_NAME"],
    ["a b", "any", "CONFIG_NAME"],
    [".", "any", "CONFIG_NAME"],
    ["", "any", "CONFIG_NAME"],
    ["a..", "any", "CONFIG_NAME"],
  ] as const)("%j as %s is %j", (text, kind, expected) => {
    expect(outcome(parseName(text, kind))).toBe(expected);
  });

  test.each([
    ["hostmaster.example.com", "hostmaster.example.com"],
    ["Host.Master@Example.com", "host\\.master.example.com"],
    ["dns+k8s@example.com", "dns+k8s.example.com"],
    ["host\\.master.example.com.", "host\\.master.example.com"],
    ["a@b@c", "CONFIG_CONTACT"],
    ["hostmaster", "CONFIG_CONTACT"],
    [`${"a".repeat(64)}@example.com`, "CONFIG_CONTACT"],
  ])("the mailbox %j is %j", (text, expected) => {
    expect(outcome(parseContact(text))).toBe(expected);
  });
});

describe("suggestions", () => {
  const keys = ["interval", "timeout", "rise", "fall", "type", "path"];
  test.each([
    ["intervall", "interval"],
    ["INTERVAL", "interval"],
    ["itnerval", "interval"],
    ["timeuot", "timeout"],
    ["tpye", "type"],
    ["fal", "fall"],
    ["colour", undefined],
    ["", undefined],
    ["x".repeat(100_000), undefined],
  ])("%.20s → %s", (word, expected) => {
    expect(suggest(word, keys)).toBe(expected);
  });

  test("a swap of neighbours is one edit, and distance is symmetric", () => {
    expect(editDistance("ab", "ba")).toBe(1);
    expect(editDistance("kitten", "sitting")).toBe(3);
    fc.assert(
      fc.property(fc.string({ maxLength: 8 }), fc.string({ maxLength: 8 }), (a, b) => {
        expect(editDistance(a, b)).toBe(editDistance(b, a));
        expect(editDistance(a, b) === 0).toBe(a === b);
      }),
    );
  });
});

test("values and paths are shown so that they can be told apart", () => {
  expect([quote("a"), quote("5"), quote(5), quote(true), quote(null), quote([]), quote({})]).toEqual([
    '"a"',
    '"5"',
    "5",
    "true",
    "null",
    "a list",
    "a mapping",
  ]);
  expect(quote("😀".repeat(81))).toBe(`"${"😀".repeat(80)}…"`);
  expect(formatPath(["endpoints", "api.eu", "targets", "cp1", 0])).toBe('endpoints["api.eu"].targets.cp1[0]');
});
