import { z } from "zod";
import { MAX_STAMP_COUNT, MAX_STAMP_MS } from "../lib/hybrid-clock.js";

/*
 * What siblings say to each other: one JSON object a line over TLS. The server that connects speaks, the other one replies on
 * the same connection; each pair has two connections, one each way, and a few more beside each for what must arrive soon
 * (`lanes.ts`). Members that are not known are ignored, and so are messages of an unknown type: a newer version may say more.
 */

/** Version of what is said. A sibling of another version is heard as far as it is understood. */
export const PROTOCOL = 1;

/** Longest line, octets. */
export const MAX_LINE_OCTETS = 64 * 1024;

/** Most entries in a list of a message; a line holds fewer. */
const MAX_ITEMS = 8_192;

/** A domain name in presentation form, at most four characters an octet. */
const name = z.string().min(1).max(1_024);
const label = z.string().min(1).max(256);
const address = z.string().min(2).max(64);
const moment = z.number().min(0).max(MAX_STAMP_MS);
const kind = z.enum(["drained", "forced-up", "forced-down"]);
const id = z.int().min(1).max(Number.MAX_SAFE_INTEGER);

/** One line without control characters, so that it is fit for logs and terminals. */
function line(max: number) {
  return z
    .string()
    .max(max * 2)
    .regex(/^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*$/u);
}

const stamp = z.object({
  ms: moment,
  count: z.int().min(0).max(MAX_STAMP_COUNT),
  by: z.string().max(63),
});

/**
 * What a server's probes have met lately, all addresses together:
 *
 * - `reached`: something answered, be it with a refusal;
 * - `soft`: everything failed, in ways that may be the network or a busy moment;
 * - `network`: no connection could be made to anything;
 * - `unknown`: there is no result yet.
 */
const SIGHTS = ["reached", "soft", "network", "unknown"] as const;

/** What a server sees of an address. `doubt`: it is up, but its newest probe failed. */
const VERDICTS = ["up", "doubt", "down", "unknown"] as const;

export type Verdict = (typeof VERDICTS)[number];

/** First message of a connection. */
const hello = z.object({
  t: z.literal("hello"),
  version: z.int(),
  name: label,
  /** Of the process: other after each start. */
  boot: z.string().min(8).max(64),
  /** A further connection of the same server, from 1: brings only what is said on all of them, and is replied to on each. */
  lane: z.int().min(1).max(16).exactOptional(),
});

/** Said every 500 ms. */
const beat = z.object({
  t: z.literal("beat"),
  seq: z.int().min(0),
  wallMs: z.number(),
  monotonicMs: z.number(),
  isolated: z.boolean(),
  late: z.boolean(),
  starting: z.boolean(),
  sight: z.enum(SIGHTS),
  /** Digest of all shared overrides. */
  overrides: z.string().max(64),
});

const zones = z.object({
  t: z.literal("zones"),
  zones: z.array(z.object({ zone: name, digest: z.string().max(64), serial: z.number() })).max(MAX_ITEMS),
});

/** Serials that changed: what a server that is a primary of the same secondaries publishes. */
const serials = z.object({
  t: z.literal("serials"),
  serials: z
    .array(
      z.object({
        zone: name,
        serial: z.int().min(0).max(0xffff_ffff),
        /** Digest of the records that belong to it; empty from a server that did not make it. */
        records: z.string().max(64),
        /** The zone is not served any more. */
        gone: z.literal(true).exactOptional(),
      }),
    )
    .max(MAX_ITEMS),
});

/** One endpoint as a server sees and answers it. */
const endpoint = z.object({
  endpoint: name,
  /** Addresses that are answered. */
  answers: z.array(address).max(MAX_ITEMS),
  /** Addresses that are plainly up. */
  up: z.array(address).max(MAX_ITEMS),
  /** All others. */
  not: z.array(z.tuple([address, z.enum(VERDICTS)])).max(MAX_ITEMS),
});

const endpoints = z.object({
  t: z.literal("endpoints"),
  endpoints: z.array(endpoint).max(MAX_ITEMS),
  /** Endpoints that are not served any more. */
  gone: z.array(name).max(MAX_ITEMS),
});

/** The last word on one target; without `kind` that nothing holds any more. */
const override = z.object({
  endpoint: name,
  target: label,
  stamp,
  kind: kind.exactOptional(),
  reason: line(200).exactOptional(),
  author: line(64).exactOptional(),
  /** The server on which it was said; absent if it came from Kubernetes. */
  server: label.exactOptional(),
  setAtMs: moment,
  expiresAtMs: moment.exactOptional(),
});

const overrides = z.object({
  t: z.literal("overrides"),
  id,
  /** Moments are by the sender's clock, which says this now. */
  wallMs: moment,
  entries: z.array(override).max(MAX_ITEMS),
});

/** May this target be taken out? Who says yes keeps the place free for a moment. */
const ask = z.object({
  t: z.literal("ask"),
  id,
  endpoint: name,
  target: label,
  kind,
});

/** What was asked for does not happen. */
const release = z.object({ t: z.literal("release"), endpoint: name, target: label });

/** When can this target be stopped? */
const safe = z.object({ t: z.literal("safe"), id, endpoint: name, target: label });

/** Has everything up to here arrived? Said again and again until it is confirmed. */
const nudge = z.object({ t: z.literal("nudge"), n: z.int().min(0) });

/** What the server that connects says. */
export const spoken = z.discriminatedUnion("t", [
  hello,
  beat,
  zones,
  serials,
  endpoints,
  overrides,
  ask,
  release,
  safe,
  nudge,
]);

/** First reply of a connection. */
const welcome = z.object({
  t: z.literal("welcome"),
  name: label,
  boot: z.string().min(8).max(64),
  /** How many further connections it takes; absent = none. */
  lanes: z.int().min(0).max(16).exactOptional(),
});

const reply = z.object({
  t: z.literal("reply"),
  id,
  /** Why not. */
  refusal: z.object({ code: z.string().max(64), message: line(1_000) }).exactOptional(),
  /** Milliseconds until the target can be stopped; absent while it is answered, or where that was not asked. */
  safeInMs: z.number().min(0).exactOptional(),
  /** Of a reply on when it is safe: whether the target is answered still, or is not drained there. */
  state: z.enum(["drained", "answered", "not-drained", "unknown"]).exactOptional(),
});

/** The server that replies lacks something: say everything again. */
const want = z.object({ t: z.literal("want"), what: z.enum(["endpoints", "overrides"]) });

/** The nudge `n` has arrived, and with it everything that was said before. */
const heard = z.object({ t: z.literal("heard"), n: z.int().min(0) });

/** What the server that is connected to says. */
export const replied = z.discriminatedUnion("t", [welcome, reply, want, heard]);

export type Spoken = z.output<typeof spoken>;
export type Replied = z.output<typeof replied>;
export type Beat = Extract<Spoken, { t: "beat" }>;
export type SiblingZone = z.output<typeof zones>["zones"][number];
export type SiblingSerial = z.output<typeof serials>["serials"][number];
export type SiblingEndpoint = z.output<typeof endpoint>;
export type SharedOverride = z.output<typeof override>;
export type Ask = Omit<z.output<typeof ask>, "t" | "id">;
export type Reply = Omit<z.output<typeof reply>, "t" | "id">;

/** What became of a line: a message, one to be ignored, or nonsense that ends the connection. */
export type Understood<T> = { readonly message: T } | "ignored" | "nonsense";

const typed = z.object({ t: z.string() });

/** Reads one line. @param types of messages that are known */
export function understand<T>(text: string, schema: z.ZodType<T>, types: ReadonlySet<string>): Understood<T> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return "nonsense";
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return { message: parsed.data };
  const other = typed.safeParse(json);
  return other.success && !types.has(other.data.t) ? "ignored" : "nonsense";
}

export const SPOKEN_TYPES: ReadonlySet<string> = new Set(spoken.options.map(({ shape }) => shape.t.value));
export const REPLIED_TYPES: ReadonlySet<string> = new Set(replied.options.map(({ shape }) => shape.t.value));

/** Packs items into as few lines as they need. @param octets that a line has for them, of {@link MAX_LINE_OCTETS} */
export function pack<T>(items: readonly T[], octets = MAX_LINE_OCTETS - 1_024): T[][] {
  const lines: T[][] = [];
  let room = 0;
  for (const item of items) {
    const needed = Buffer.byteLength(JSON.stringify(item)) + 1;
    if (needed > octets) continue;
    if (needed > room || (lines.at(-1)?.length ?? 0) >= MAX_ITEMS) {
      lines.push([]);
      room = octets;
    }
    lines.at(-1)?.push(item);
    room -= needed;
  }
  return lines;
}
