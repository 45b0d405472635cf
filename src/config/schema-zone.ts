import { z } from "zod";
import { address, choice, contact, domainName, flag, leaf, oneOrMany, text, ttl, wholeNumber } from "./option.js";
import type { Verdict } from "./parse-result.js";
import { discover, forgetAfter, maxTargets } from "./schema-discovery.js";
import { probeSchema } from "./schema-probe.js";
import { zoneTransfer } from "./schema-transfer.js";

/* Every option of a zone file. */

const targetAddresses = oneOrMany(address({ about: "IPv4 or IPv6 address." }));

/** Where one target is probed. */
export const targetProbeOptions = {
  address: address({
    about: "Address to probe, if not those that are answered; its result counts for all of them.",
  }).optional(),
  port: wholeNumber(
    { min: 1, max: 65_535 },
    { about: "Port to probe; default: that of the endpoint's probe." },
  ).optional(),
} as const;

/** The long form of a target. */
export const targetOptions = {
  addresses: targetAddresses,
  probe: z
    .strictObject(targetProbeOptions, { error: () => "targetProbe" })
    .meta({ description: "Where this target is probed, such as behind NAT or at a separate health port." })
    .optional(),
  disabled: flag({
    about: "Keep the target in the file and in the status, but neither probe nor answer it.",
    default: false,
  }).optional(),
} as const;

const target = z
  .union([targetAddresses, z.strictObject(targetOptions, { error: () => "target" })])
  .meta({ description: "Addresses, or a mapping with addresses and more options." });

const whenAllDown = z
  .union([
    choice(["all", "last-healthy", "none"], {
      about: "all: every target; last-healthy: those that were up last; none: no address (NODATA).",
    }),
    z.strictObject(
      { addresses: oneOrMany(address({ about: "Address to answer instead." })) },
      { error: () => "whenAllDown" },
    ),
  ])
  .meta({ description: "What to answer when fewer than minHealthy targets are up.", default: "all" });

export const endpointOptions = {
  port: wholeNumber({ min: 1, max: 65_535 }, { about: "Port of the apiservers.", default: 6443 }).optional(),
  ttl: ttl({ about: "TTL of the endpoint's answers, seconds; default: the zone's." }).optional(),
  targets: z
    .record(z.string(), target)
    .meta({
      description:
        "The apiservers: an id (one DNS label) and one or more addresses each, or more options. May be left out beside discover.",
    })
    .optional(),
  discover: discover.optional(),
  forgetAfter: forgetAfter.optional(),
  maxTargets: maxTargets.optional(),
  probe: z
    .union([
      probeSchema,
      z
        .array(probeSchema)
        .min(1)
        .meta({ description: "Several probes, all of which must pass; the first has the schedule." }),
    ])
    .meta({ description: "How targets are probed: one probe, or a list of probes that must all pass." })
    .optional(),
  whenAllDown: whenAllDown.optional(),
  minHealthy: wholeNumber(
    { min: 1, max: 65_535 },
    {
      about: "With fewer targets up than this, the endpoint counts as all down; at most the number of targets.",
      default: 1,
    },
  ).optional(),
  maxAnswers: wholeNumber(
    { min: 1, max: 65_535 },
    { about: "At most this many addresses in one answer; default: all." },
  ).optional(),
  whenUnknown: choice(["withhold", "answer"], {
    about:
      "Whether a target without any result yet, after a start without remembered health, is answered. One that joins a running endpoint never is.",
    default: "withhold",
  }).optional(),
  statusRecord: flag({
    about: "Publish the targets' health as TXT at _status.<endpoint>, for whoever can ask.",
    default: false,
  }).optional(),
} as const;

const SOA_SECONDS = { min: 1, max: 2_147_483_647, unit: "seconds" } as const;

export const soaOptions = {
  contact: contact({ about: "Mailbox of who runs the zone; default: hostmaster.<zone>." }).optional(),
  negativeTtl: ttl({
    about: "How long resolvers may remember that there is no such record, seconds.",
    default: 5,
  }).optional(),
  refresh: wholeNumber(SOA_SECONDS, {
    about: "Seconds between a secondary's checks; in a zone with transfer the default is 60.",
    default: 7200,
  }).optional(),
  retry: wholeNumber(SOA_SECONDS, {
    about: "Seconds between checks after a failed one; in a zone with transfer the default is 30.",
    default: 900,
  }).optional(),
  expire: wholeNumber(SOA_SECONDS, {
    about: "Seconds after which a secondary without contact stops answering.",
    default: 1_209_600,
  }).optional(),
  serialModulo: leaf(
    { type: "string", pattern: "^[0-9]+/[0-9]+$" },
    {
      about:
        'Which serials this server uses where several primaries serve the same secondaries: "0/2" on one of two, "1/2" on the other. Default: every serial.',
    },
    readSerialModulo,
  ).optional(),
} as const;

export const zoneOptions = {
  zone: domainName("any", { about: "Name of the delegated zone, such as k8s.example.com." }),
  nameservers: z
    .record(
      z.string(),
      z.union([address({ about: "IPv4 or IPv6 address." }), z.array(address({ about: "IPv4 or IPv6 address." }))]),
    )
    .meta({
      description:
        "Name servers of the zone and their addresses (glue), as the parent zone delegates to them. Names are relative to the zone, or absolute with a trailing dot.",
    }),
  nameserverTtl: ttl({
    about: "TTL of the zone's NS records and of the name servers' addresses, seconds.",
    default: 300,
  }).optional(),
  ttl: ttl({ about: "TTL of endpoints and records that name none, seconds; default: the main file's." }).optional(),
  soa: z
    .strictObject(soaOptions, { error: () => "soa" })
    .meta({ description: "Fields of the SOA record." })
    .optional(),
  records: text('master-file lines after "records: |"', {
    about: "Other records of the zone as master-file lines, relative to the zone.",
  }).optional(),
  probe: probeSchema.optional(),
  endpoints: z
    .record(z.string(), z.strictObject(endpointOptions, { error: () => "endpoint" }))
    .meta({ description: "Health-aware names, relative to the zone; @ is the zone's own name." })
    .optional(),
  transfer: zoneTransfer.optional(),
  allowSpecialAddresses: flag({
    about: "Accept addresses that no client could use: loopback, link-local, multicast, unspecified, broadcast.",
    default: false,
  }).optional(),
} as const;

/** A zone file. */
export const zoneSchema = z
  .strictObject(zoneOptions, { error: () => "zone" })
  .meta({ title: "livezone zone file", description: "One delegated zone with its endpoints." });

export type ZoneInput = z.output<typeof zoneSchema>;
export type EndpointInput = NonNullable<ZoneInput["endpoints"]>[string];
export type TargetInput = NonNullable<EndpointInput["targets"]>[string];

/** Most primaries of one zone; more would only make serials leap. */
const MAX_PRIMARIES = 16;

/** `remainder/modulus`. */
function readSerialModulo(value: unknown): Verdict<{ readonly remainder: number; readonly modulus: number }> {
  const [, remainder = "", modulus = ""] = /^([0-9]{1,2})\/([0-9]{1,2})$/.exec(String(value)) ?? [];
  const verdict = { remainder: Number(remainder), modulus: Number(modulus) };
  const isInRange = verdict.modulus >= 2 && verdict.modulus <= MAX_PRIMARIES && verdict.remainder < verdict.modulus;
  if (remainder !== "" && isInRange) return { value: verdict };
  return {
    why: "that names no share of the serials",
    remedy: `Write "0/2" on the first of two primaries and "1/2" on the second; at most ${MAX_PRIMARIES} share them.`,
    code: "CONFIG_SERIAL_MODULO",
  };
}
