import { describe, expect, test } from "vitest";
import { clientAt } from "../../src/query/client.js";
import { COOKIE_OCTETS, createServerCookies, isCookieLength } from "../../src/query/cookies.js";

const unhex = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(" ", ""), "hex"));

const SECRET = "e5e973e5a6b2a43f48e7dc849e37bfcf";
const NEXT_SECRET = "445536bcd2513298075a5d379663c962";
const OLD_SECRET = "dd3bdf9344b678b185a6f5cb60fca715";

/** What a jar with these secrets says at a time to the data of a COOKIE option, and sends back. */
function exchange(options: { secrets: readonly string[]; at: number; from: string; cookie: string }) {
  const jar = createServerCookies(options.secrets.map(unhex), () => options.at * 1_000 + 999);
  const cookie = unhex(options.cookie);
  const reply = new Uint8Array(COOKIE_OCTETS);
  // In the middle of a message.
  const request = Uint8Array.from([9, 9, 9, ...cookie, 7]);
  const standing = jar.exchange(request, 3, cookie.length, clientAt(options.from), new DataView(reply.buffer), 0);
  return { standing, reply: Buffer.from(reply).toString("hex") };
}

describe("the test vectors of RFC 9018, appendix A", () => {
  test.each([
    {
      name: "A.1: learning a new server cookie",
      secrets: [SECRET],
      at: 0x5cf79f11,
      from: "198.51.100.100",
      cookie: "2464c4abcf10c957",
      standing: "unproven",
      reply: "2464c4abcf10c957 010000005cf79f11 1f8130c3eee29480",
    },
    {
      name: "A.2: the same client learning a renewed server cookie",
      secrets: [SECRET],
      at: 0x5cf7a871,
      from: "198.51.100.100",
      cookie: "2464c4abcf10c957 010000005cf79f11 1f8130c3eee29480",
      standing: "proven",
      reply: "2464c4abcf10c957 010000005cf7a871 d4a564a1442aca77",
    },
    {
      name: "A.3: another client learning a renewed server cookie, reserved bits set",
      secrets: [SECRET],
      at: 0x5cf7a9ac,
      from: "203.0.113.203",
      cookie: "fc93fc62807ddb86 01abcdef5cf78f71 a314227b6679ebf5",
      standing: "unproven",
      reply: "fc93fc62807ddb86 010000005cf7a9ac f73a7810aca2381e",
    },
    {
      name: "A.4: an IPv6 query with a renewed secret",
      secrets: [NEXT_SECRET, OLD_SECRET],
      at: 0x5cf7c609,
      from: "2001:db8:220:1:59de:d0f4:8769:82b8",
      cookie: "22681ab97d52c298 010000005cf7c579 26556bd0934c72f8",
      standing: "proven",
      reply: "22681ab97d52c298 010000005cf7c609 a6bb79d16625507a",
    },
  ])("$name", ({ standing, reply, ...options }) => {
    expect(exchange(options)).toEqual({ standing, reply: reply.replaceAll(" ", "") });
  });
});

describe("a server cookie", () => {
  const made = 1_700_000_000;
  const common = { secrets: [SECRET], from: "192.0.2.1" };
  const { reply: good } = exchange({ ...common, at: made, cookie: "0011223344556677" });

  test.each([
    { name: "fresh", later: 0, proven: true, renewed: false },
    { name: "half an hour old", later: 1_800, proven: true, renewed: false },
    { name: "older", later: 1_801, proven: true, renewed: true },
    { name: "an hour old", later: 3_600, proven: true, renewed: true },
    { name: "older than an hour", later: 3_601, proven: false, renewed: true },
    { name: "of a sibling whose clock is ahead", later: -300, proven: true, renewed: false },
    { name: "further from the future", later: -301, proven: false, renewed: true },
  ])("$name: proven $proven, renewed $renewed", ({ later, proven, renewed }) => {
    const { standing, reply } = exchange({ ...common, at: made + later, cookie: good });
    expect(standing).toBe(proven ? "proven" : "unproven");
    expect(reply === good).toBe(!renewed);
    // What replaces it is good in turn.
    expect(exchange({ ...common, at: made + later, cookie: reply })).toEqual({ standing: "proven", reply });
  });

  test("is good for its address, its client cookie and its secret only", () => {
    expect(exchange({ ...common, at: made, from: "192.0.2.2", cookie: good }).standing).toBe("unproven");
    expect(exchange({ ...common, at: made, cookie: `00${"11".repeat(7)}${good.slice(16)}` }).standing).toBe("unproven");
    expect(exchange({ ...common, at: made, secrets: [OLD_SECRET], cookie: good }).standing).toBe("unproven");
    for (let octet = 0; octet < 24; octet += 1) {
      const forged = Buffer.from(good, "hex");
      forged[octet] = (forged[octet] ?? 0) ^ 1;
      expect(exchange({ ...common, at: made, cookie: forged.toString("hex") }).standing).toBe("unproven");
    }
  });

  test("outlives its secret's first place by being tried on the second, and is then of the first", () => {
    const rolled = exchange({ ...common, at: made + 1, secrets: [NEXT_SECRET, SECRET], cookie: good });
    expect(rolled.standing).toBe("proven");
    expect(rolled.reply).not.toBe(good);
    expect(exchange({ ...common, at: made + 2, secrets: [NEXT_SECRET], cookie: rolled.reply }).standing).toBe("proven");
  });

  test("of another server's making is answered with one of ours", () => {
    for (const length of [8, 15, 17, 32]) {
      const { standing, reply } = exchange({ ...common, at: made, cookie: `0011223344556677${"ab".repeat(length)}` });
      expect({ standing, reply }).toEqual({ standing: "unproven", reply: good });
    }
  });

  test("stays comparable when 32 bits of seconds have run out", () => {
    const end = 2 ** 32;
    const { reply } = exchange({ ...common, at: end - 10, cookie: "0011223344556677" });
    expect(exchange({ ...common, at: end + 10, cookie: reply }).standing).toBe("proven");
  });
});

test("a COOKIE option has 8, or 16 to 40 octets (RFC 7873 §5.2.2)", () => {
  const lengths = Array.from({ length: 50 }, (_, i) => i).filter(isCookieLength);
  expect(lengths).toEqual([8, ...Array.from({ length: 25 }, (_, i) => 16 + i)]);
});

test("without a secret there is no jar", () => {
  expect(() => createServerCookies([], () => 0)).toThrow("secret");
});
