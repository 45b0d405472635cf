import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readCookieSecrets } from "../../src/config/secrets.js";
import { threadPolicy } from "../../src/server/query-policy.js";
import { folderWith, loadRight, loadWrong, MAIN } from "./folder.js";

const SECRET = "e5e973e5a6b2a43f48e7dc849e37bfcf";
const RANDOM = new Uint8Array(16);

describe("queries", () => {
  test("left out: everyone, no limit, a random secret, nothing told", () => {
    const { config } = loadRight();
    expect(config.queries).toEqual({ tcp: { maxConnections: 2_000, maxPerClient: 200, idleMs: 10_000 } });
    const terms = threadPolicy(config, { transport: "batch", randomSecret: RANDOM });
    expect(terms.policy).toEqual({ cookieSecrets: [RANDOM], tcpIdleMs: 10_000 });
    expect(terms.tcp).toMatchObject({ maxConnections: 2_000, maxPerClient: 200, idleMs: 10_000 });
  });

  test("written out: reaches what threads are told", () => {
    const queries = `workers: 4
queries:
  allow: [10.0.0.0/8, 192.0.2.7, "2001:db8::/32"]
  rateLimit: { perSecond: 200, slip: 1, ipv4Prefix: 32, ipv6Prefix: 64 }
  cookieSecretFile: cookies
  identity: site-a
  version: "1.2"
  tcp: { maxConnections: 500, maxPerClient: 10, idleTimeout: 3s }
`;
    const { config } = loadRight({
      "livezone.yaml": MAIN + queries,
      cookies: `${SECRET}\n# the old one\n${"0".repeat(32)}\n`,
    });
    expect(config.queries).toMatchObject({
      allow: [
        { address: "10.0.0.0", bits: 8 },
        { address: "192.0.2.7", bits: 32 },
        { address: "2001:db8::", bits: 32 },
      ],
      rateLimit: { perSecond: 200, slip: 1, ipv4Prefix: 32, ipv6Prefix: 64 },
      identity: "site-a",
      version: "1.2",
      tcp: { maxConnections: 500, maxPerClient: 10, idleMs: 3_000 },
    });
    const { policy, tcp } = threadPolicy(config, { transport: "batch", randomSecret: RANDOM });
    expect(policy.cookieSecrets.map((secret) => Buffer.from(secret).toString("hex"))).toEqual([SECRET, "0".repeat(32)]);
    // A quarter for each of four threads; without the native part there is one thread.
    expect(policy.rateLimit?.perSecond).toBe(50);
    expect(threadPolicy(config, { transport: "dgram", randomSecret: RANDOM }).policy.rateLimit?.perSecond).toBe(200);
    expect(policy.allow?.[1]).toEqual({ octets: Uint8Array.of(192, 0, 2, 7), bits: 32 });
    expect(Buffer.from(policy.identity ?? []).toString()).toBe("site-a");
    expect(policy.tcpIdleMs).toBe(3_000);
    expect(tcp).toMatchObject({ maxConnections: 500, maxPerClient: 10, idleMs: 3_000 });
  });

  test("the example of docs/queries.md is right", () => {
    const text = readFileSync(new URL("../../docs/queries.md", import.meta.url), "utf8");
    const example = /```yaml\n(.*?)```/s.exec(text)?.[1] ?? "";
    const { config } = loadRight({ "livezone.yaml": MAIN + example, cookies: SECRET });
    expect(config.queries).toMatchObject({
      rateLimit: { perSecond: 200 },
      identity: "site-a",
      tcp: { idleMs: 10_000 },
    });
  });

  test("a limit alone takes its other values from the defaults", () => {
    const { config } = loadRight({
      "livezone.yaml": `${MAIN}queries: { rateLimit: { perSecond: 5 }, allow: "::1" }\n`,
    });
    expect(config.queries.rateLimit).toEqual({ perSecond: 5, slip: 2, ipv4Prefix: 24, ipv6Prefix: 56 });
    expect(config.queries.allow).toEqual([{ address: "::1", bits: 128 }]);
  });

  test.each([
    { queries: "allow: 10.0.0.0/33", code: "CONFIG_RANGE_OF_ADDRESSES", says: "32 bits" },
    { queries: "allow: 10.1.2.3/8", code: "CONFIG_RANGE_OF_ADDRESSES", says: "begins at 10.0.0.0" },
    { queries: 'allow: "2001:db8::1/64"', code: "CONFIG_RANGE_OF_ADDRESSES", says: "begins at 2001:db8::" },
    { queries: "allow: corp.example.com", code: "CONFIG_RANGE_OF_ADDRESSES", says: "not a range" },
    { queries: "allow: 10.0.0.0/", code: "CONFIG_RANGE_OF_ADDRESSES", says: "not a range" },
    { queries: "rateLimit: { slip: 2 }", code: "CONFIG_MISSING", says: "perSecond" },
    { queries: "rateLimit: { perSecond: 0 }", code: "CONFIG_RANGE", says: "perSecond" },
    { queries: "rateLimit: { perSecond: 9, slip: 11 }", code: "CONFIG_RANGE", says: "slip" },
    { queries: "rateLimit: { perSecond: 9, slp: 1 }", code: "CONFIG_UNKNOWN_KEY", says: "slp" },
    { queries: `identity: ${"x".repeat(129)}`, code: "CONFIG_IDENTITY", says: "129 characters" },
    { queries: 'identity: "é"', code: "CONFIG_IDENTITY", says: "ASCII" },
    { queries: "version: 1.2", code: "CONFIG_TYPE", says: "not text" },
    { queries: "tcp: { idleTimeout: 10 }", code: "CONFIG_DURATION_UNIT", says: "idleTimeout" },
    { queries: "cookieSecretFile: nowhere", code: "CONFIG_COOKIE_SECRET", says: "no such file" },
    { queries: "cookieSecretFile: short", code: "CONFIG_COOKIE_SECRET", says: "not 32 hexadecimal digits" },
    { queries: "cookies: 1", code: "CONFIG_UNKNOWN_KEY", says: "cookies" },
  ])("refuses $queries", ({ queries, code, says }) => {
    const problems = loadWrong({ "livezone.yaml": `${MAIN}queries:\n  ${queries}\n`, short: "abcd\n" });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({ code, line: expect.any(Number), message: expect.stringContaining(says) });
    expect(problems[0]?.line).toBeGreaterThan(1);
  });
});

describe("a file of cookie secrets", () => {
  const read = (content: string) => readCookieSecrets(join(folderWith({ cookies: content }), "cookies"));
  test.each([
    { content: SECRET, count: 1 },
    { content: `${SECRET.toUpperCase()}\r\n\r\n`, count: 1 },
    { content: `# in use\n${SECRET}\n  ${"f".repeat(32)} # the old one`, count: 2 },
  ])("$count in $content", ({ content, count }) => {
    expect(read(content)).toMatchObject({ secrets: { length: count } });
  });

  test.each([
    { content: "", why: "no secret" },
    { content: "# nothing", why: "no secret" },
    { content: `${SECRET}00`, why: "its secret 1 is not" },
    { content: `${SECRET}\nxyz`, why: "its secret 2 is not" },
    { content: `${SECRET}\n${SECRET}\n${SECRET}`, why: "3 secrets" },
    { content: "x".repeat(5_000), why: "larger than" },
  ])("not in $content, and says why without showing it", ({ content, why }) => {
    const result = read(content);
    expect(result).toEqual({ why: expect.stringContaining(why) });
    expect(JSON.stringify(result)).not.toContain(SECRET);
  });
});
