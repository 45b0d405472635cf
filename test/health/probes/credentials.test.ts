import { expect, test } from "vitest";
import { createAuthority } from "../../../src/demo/certificates.js";
import { noticeOf, validityOfCertificate, validityOfToken } from "../../../src/health/probes/credentials.js";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function token(claims: object): string {
  return `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.c2ln`;
}

test.each([
  { what: "a certificate of a year, 8 days before", lifeMs: 365 * DAY_MS, leftMs: 8 * DAY_MS, says: undefined },
  { what: "... and 7 days before", lifeMs: 365 * DAY_MS, leftMs: 7 * DAY_MS, says: "soon" },
  { what: "a token of an hour, 7 minutes before", lifeMs: HOUR_MS, leftMs: 7 * 60_000, says: undefined },
  { what: "... and 6 minutes before", lifeMs: HOUR_MS, leftMs: 6 * 60_000, says: "soon" },
  { what: "... and at its end", lifeMs: HOUR_MS, leftMs: 0, says: "over" },
  { what: "one without a beginning", lifeMs: Number.POSITIVE_INFINITY, leftMs: 6 * DAY_MS, says: "soon" },
] as const)("$what: $says", ({ lifeMs, leftMs, says }) => {
  const toMs = 1_800_000_000_000;
  expect(noticeOf({ fromMs: toMs - lifeMs, toMs }, toMs - leftMs)).toBe(says);
});

test("the validity of a token is that of its claims; any other text has none", () => {
  expect(validityOfToken(token({ iat: 1_000, exp: 4_600 }))).toEqual({ fromMs: 1_000_000, toMs: 4_600_000 });
  expect(validityOfToken(token({ exp: 4_600 }))).toMatchObject({ toMs: 4_600_000 });
  for (const text of ["opaque", token({}), token({ exp: "soon" }), "a.!.b", ""])
    expect(validityOfToken(text)).toBeUndefined();
});

test("the validity of a certificate is its own; what is none has none", async () => {
  const authority = await createAuthority();
  const notAfter = new Date("2027-03-04T05:06:07Z");
  const { certPem } = await authority.issue({ names: ["probe"], notAfter });
  expect(validityOfCertificate(certPem)?.toMs).toBe(notAfter.getTime());
  expect(validityOfCertificate("")).toBeUndefined();
});
