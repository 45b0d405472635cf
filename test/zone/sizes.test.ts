import { describe, expect, test } from "vitest";
import { buildZone } from "../../src/zone/build.js";
import { type ZoneSketch, zoneConfig } from "../answers/serve.js";

/** An endpoint with so many targets of one address each. */
const targets = (count: number, address: (index: number) => string) => ({
  api: Object.fromEntries(Array.from({ length: count }, (_, index) => [`t${index}`, [address(index)]])),
});
const ipv4 = (index: number) => `10.${index >>> 16}.${(index >>> 8) & 0xff}.${index & 0xff}`;
const ipv6 = (index: number) => `2001:db8::${index.toString(16)}`;
/** One target with so many addresses, so that there is one SRV record. */
const oneTarget = (count: number, address: (index: number) => string) => ({
  api: { cp1: Array.from({ length: count }, (_, index) => address(index)) },
});

const messagesOf = (sketch: ZoneSketch) =>
  buildZone(zoneConfig(sketch)).problems.map(({ code, message, remedy }) => `${code}: ${message}. ${remedy}`);

describe("a set of records that no message can hold is refused", () => {
  test.each([
    [
      "4 093 A",
      oneTarget(4093, ipv4),
      /the 4093 records of api\.k8s\.example\.test A .* Set "maxAnswers".* at most 4071\./,
    ],
    ["2 400 AAAA", oneTarget(2400, ipv6), /the 2400 records of api\.k8s\.example\.test AAAA .*"maxAnswers"/],
    ["4 000 SRV", targets(4000, ipv4), /the 4000 records of _https\._tcp\.api\.k8s\.example\.test\. SRV, one for each/],
  ])("%s of an endpoint", (_name, endpoints, words) => {
    const found = messagesOf({ endpoints });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(/^RECORD_SET_TOO_LARGE: /);
    expect(found[0]).toMatch(words);
  });

  test("what maxAnswers leaves of it counts", () => {
    expect(messagesOf({ endpoints: oneTarget(5000, ipv4), maxAnswers: 4071 })).toEqual([]);
    expect(messagesOf({ endpoints: oneTarget(5000, ipv4), maxAnswers: 4072 })).toHaveLength(1);
  });

  test("what fits is accepted, and families are counted apart", () => {
    expect(messagesOf({ endpoints: targets(1200, ipv4) })).toEqual([]);
    const both = (index: number) => (index % 2 === 0 ? ipv4(index) : ipv6(index));
    expect(messagesOf({ endpoints: oneTarget(4000, both) })).toEqual([]);
  });

  test("targets that are disabled do not count, and the list of whenAllDown does", () => {
    const config = zoneConfig({ endpoints: oneTarget(4093, ipv4) });
    const [api] = config.endpoints;
    const with_ = (more: object) =>
      buildZone({ ...config, endpoints: api === undefined ? [] : [{ ...api, ...more }] }).problems.length;
    expect(with_({ targets: api?.targets.map((target) => ({ ...target, disabled: true })) })).toBe(0);
    const addresses = Array.from({ length: 4093 }, (_, index) => ipv4(index));
    expect(with_({ targets: [], whenAllDown: { kind: "addresses", addresses } })).toBe(1);
  });

  test("the status of very many addresses", () => {
    const problems = (count: number) => {
      const config = zoneConfig({ endpoints: oneTarget(count, ipv4) });
      return buildZone({ ...config, endpoints: config.endpoints.map((one) => ({ ...one, statusRecord: true })) })
        .problems;
    };
    expect(problems(254)).toEqual([]);
    expect(problems(255).map(({ code, remedy }) => `${code}: ${remedy}`)).toEqual([
      'RECORD_SET_TOO_LARGE: Remove "statusRecord" from the endpoint.',
    ]);
  });
});
