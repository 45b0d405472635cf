import { z } from "zod";
import { duration, leaf, oneOrMany, text, wholeNumber } from "./option.js";
import type { Verdict } from "./parse-result.js";
import { parseRange } from "./range.js";

/* The options of `queries` in the main file; see `schema.ts` for what an entry says. */

export const rateLimitOptions = {
  perSecond: wholeNumber({ min: 1, max: 1_000_000 }, { about: "Responses a second to one prefix, over UDP." }),
  slip: wholeNumber(
    { min: 0, max: 10 },
    { about: "Every how-manieth limited response is sent all the same, truncated; 0: none.", default: 2 },
  ).optional(),
  ipv4Prefix: wholeNumber(
    { min: 8, max: 32 },
    { about: "Leading bits of an IPv4 address that count as one client.", default: 24 },
  ).optional(),
  ipv6Prefix: wholeNumber(
    { min: 16, max: 128 },
    { about: "Leading bits of an IPv6 address that count as one client.", default: 56 },
  ).optional(),
} as const;

export const tcpOptions = {
  maxConnections: wholeNumber(
    { min: 1, max: 100_000 },
    { about: "TCP connections at once; further ones are turned away.", default: 2_000 },
  ).optional(),
  maxPerClient: wholeNumber(
    { min: 1, max: 100_000 },
    { about: "TCP connections from one address.", default: 200 },
  ).optional(),
  idleTimeout: duration(
    { min: "1s", max: "10m" },
    { about: "How long a TCP connection is kept without a query.", default: "10s" },
  ).optional(),
} as const;

const MAX_IDENTITY_OCTETS = 128;

export const queryOptions = {
  allow: oneOrMany(
    leaf({ type: "string" }, { about: 'Range of addresses, such as "10.0.0.0/8", or an address.' }, parseRange),
  )
    .meta({ description: "Who is answered; everyone else is refused. Default: everyone." })
    .optional(),
  rateLimit: z
    .strictObject(rateLimitOptions, { error: () => "rateLimit" })
    .meta({ description: "Limits responses over UDP, so that forged queries gain nothing. Default: no limit." })
    .optional(),
  cookieSecretFile: text("the path of a file", {
    about:
      "File with the secret of DNS cookies, shared by all servers of the zone, relative to this file: one or two lines of 32 hexadecimal digits, the first in use; default: one that follows from the secret of the siblings, or a random secret without any.",
  }).optional(),
  identity: leaf(
    { type: "string", minLength: 1, maxLength: MAX_IDENTITY_OCTETS },
    { about: "What NSID and the CHAOS names id.server and hostname.bind say; default: nothing." },
    readIdentity,
  ).optional(),
  version: leaf(
    { type: "string", minLength: 1, maxLength: MAX_IDENTITY_OCTETS },
    { about: "What the CHAOS names version.server and version.bind say; default: nothing." },
    readIdentity,
  ).optional(),
  tcp: z
    .strictObject(tcpOptions, { error: () => "tcp" })
    .meta({ description: "Limits of TCP connections." })
    .optional(),
} as const;

function readIdentity(value: unknown): Verdict<string> {
  const fault = { remedy: `Write 1 to ${MAX_IDENTITY_OCTETS} printable ASCII characters.`, code: "CONFIG_IDENTITY" };
  if (typeof value !== "string") return { ...fault, why: "that is not text", code: "CONFIG_TYPE" };
  if (!/^[ -~]+$/.test(value))
    return { ...fault, why: value === "" ? "that is empty" : "only printable ASCII can be sent" };
  if (value.length > MAX_IDENTITY_OCTETS) return { ...fault, why: `it is ${value.length} characters long` };
  return { value };
}
