import { z } from "zod";
import { TSIG_ALGORITHMS } from "../wire/tsig.js";
import { choice, domainName, duration, leaf, oneOrMany, text, wholeNumber } from "./option.js";
import { parseRange } from "./range.js";
import { readServerAddress } from "./server-address.js";

/* The options of `transfer` in the main file and in a zone file; see `schema.ts` for what an entry says. */

export const tsigKeyOptions = {
  algorithm: choice(TSIG_ALGORITHMS, {
    about: "How messages are signed; both sides must name the same.",
    default: "hmac-sha256",
  }).optional(),
  secretFile: text("the path of a file", {
    about:
      "File with the secret in base64, as tsig-keygen or keymgr print it; BIND's key clause is read too. Relative to this file.",
  }),
} as const;

/** `transfer` of the main file. */
export const mainTransferOptions = {
  keys: z
    .record(z.string(), z.strictObject(tsigKeyOptions, { error: () => "tsigKey" }))
    .meta({ description: "TSIG keys by name, for the zone files to refer to." })
    .optional(),
  catalog: domainName("any", {
    about:
      "Name of a catalog zone (RFC 9432), from which secondaries learn which zones there are. Whoever may transfer one of them may transfer it. Default: none.",
  }).optional(),
} as const;

const secondaryAddress = leaf(
  { type: "string" },
  { about: "Address of a secondary server, such as 10.0.0.53; with a port, such as 10.0.0.53:5353, for NOTIFY." },
  readServerAddress("CONFIG_SECONDARY"),
);

const keyName = domainName("any", { about: "Name of a key of the main file, which must sign the requests." });

export const secondaryOptions = { address: secondaryAddress, key: keyName.optional() } as const;

const range = leaf(
  { type: "string" },
  { about: 'Range of addresses, such as "10.0.0.0/8", or an address.' },
  parseRange,
);

export const transferRuleOptions = { from: range, key: keyName.optional() } as const;

/** `transfer.notify` of a zone file. */
export const notifyOptions = {
  minInterval: duration(
    { min: "10ms", max: "1m" },
    {
      about: "Time between two NOTIFYs to one secondary, at least; the first one after a pause is sent at once.",
      default: "200ms",
    },
  ).optional(),
} as const;

/** `transfer` of a zone file. */
export const zoneTransferOptions = {
  to: oneOrMany(
    z.union([
      secondaryAddress.transform((address) => ({ address, key: undefined })),
      z.strictObject(secondaryOptions, { error: () => "secondary" }),
    ]),
  )
    .meta({
      description: "Secondary servers: who is told of changes (NOTIFY), and may transfer the zone. Default: none.",
    })
    .optional(),
  allow: oneOrMany(
    z.union([
      range.transform((from) => ({ from, key: undefined })),
      z.strictObject(transferRuleOptions, { error: () => "transferRule" }),
    ]),
  )
    .meta({ description: "Who else may transfer the zone, by address, and by key if one is named. Default: nobody." })
    .optional(),
  notify: z
    .strictObject(notifyOptions, { error: () => "notify" })
    .meta({ description: "How the secondaries under `to` are told of changes." })
    .optional(),
  versions: wholeNumber(
    { min: 1, max: 100_000 },
    {
      about: "States of the zone that are kept, so that a secondary can ask for what changed since (IXFR).",
      default: 1_000,
    },
  ).optional(),
} as const;

export const mainTransfer = z
  .strictObject(mainTransferOptions, { error: () => "mainTransfer" })
  .meta({ description: "What the transfers of all zones share." });

export const zoneTransfer = z
  .strictObject(zoneTransferOptions, { error: () => "zoneTransfer" })
  .meta({ description: "Who may carry the zone (AXFR, IXFR)." });
