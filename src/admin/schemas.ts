import { z } from "zod";
import { PROBE_PHASES, RESULT_CLASSES } from "../health/health.js";
import { MAX_AUTHOR } from "../health/override-records.js";
import { MAX_REASON } from "../health/overrides.js";
import { secondariesSchema, secondaryTrouble, transferKind } from "./secondary-schemas.js";
import { siblingDrainSchema, siblingsSchema } from "./sibling-schemas.js";

/*
 * What the admin API takes and gives, once for everybody: the server checks requests with it, the commands check
 * replies with it, and `livezone.openapi.json` is written from it. Replies may gain members in a later version, so
 * readers ignore what they do not know; requests may not hold anything unknown.
 */

const wallMs = (about: string) => z.number().meta({ description: `${about}, milliseconds since 1970.` });

/** What an operator said of a target. */
export const overrideSchema = z
  .object({
    kind: z.enum(["drained", "forced-up", "forced-down"]),
    reason: z.string().optional().meta({ description: "Why, in the operator's words." }),
    author: z.string().optional().meta({ description: "Who set it, as far as known." }),
    origin: z.string().optional().meta({
      description: "By which way it came: operator (set on this server), sibling:NAME, or kubernetes.",
    }),
    local: z.boolean().optional().meta({ description: "Holds on this server alone; absent = on all siblings." }),
    setAtMs: wallMs("When it was set"),
    expiresAtMs: wallMs("When it ends by itself; absent = when it is cleared").optional(),
  })
  .meta({ id: "Override", description: "What an operator said of a target; kept apart from its health." });

const healthWord = z.enum(["unknown", "up", "down"]);

/** One finished probe. */
export const resultSchema = z
  .object({
    class: z.enum(RESULT_CLASSES),
    reason: z.string().meta({ description: "In plain words." }),
    durationMs: z.number().meta({ description: "How long the probe took, milliseconds." }),
    phase: z.enum(PROBE_PHASES).optional().meta({ description: "What a probe of class timeout waited for." }),
    certificateExpiryMs: wallMs("End of validity of the certificate that was presented").optional(),
  })
  .meta({ id: "Result", description: "What one probe found." });

/** One address of a target. */
export const addressSchema = z
  .object({
    address: z.string(),
    health: healthWord.meta({ description: "What the probes say." }),
    sinceMs: wallMs("Last change of health"),
    answered: z.boolean().meta({ description: "Whether the address goes into answers." }),
    held: z
      .object({
        untilMs: wallMs("When it returns if it passes until then"),
        changes: z.number().meta({ description: "Changes of health lately." }),
      })
      .optional()
      .meta({ description: "Present while it passes, but is kept down because it flaps; unsuppress ends that." }),
    last: resultSchema.optional(),
  })
  .meta({ id: "Address", description: "One address of a target." });

/** One target of an endpoint. */
export const targetSchema = z
  .object({
    id: z.string(),
    disabled: z
      .literal(true)
      .optional()
      .meta({ description: "Present if the configuration disables it: it is neither probed nor answered." }),
    origins: z.array(z.string()).optional().meta({
      description: "Of an endpoint with discover: where it comes from: config, or names of sources.",
    }),
    goneSinceMs: wallMs("Since when no source proposes it any more; absent = one does").optional(),
    override: overrideSchema.optional(),
    addresses: z.array(addressSchema),
  })
  .meta({ id: "Target", description: "One apiserver behind an endpoint." });

/** One source of targets. */
export const sourceSchema = z
  .object({
    source: z.string().meta({ description: "Its name, such as kubernetes:nodes." }),
    state: z.enum(["starting", "ok", "empty", "failing"]).meta({
      description: "starting: not heard yet; empty: it proposes nothing, which removes nothing; failing: see problem.",
    }),
    heardAtMs: wallMs("When it was heard last; absent = not since the start").optional(),
    problem: z.string().optional().meta({ description: "Why it cannot be read." }),
    candidates: z.number().meta({ description: "What it proposes, or did last." }),
    credentialEndsAtMs: wallMs("When its credential ends; absent = not known").optional(),
    credentialRenewFromMs: wallMs("From when on the credential should be renewed; absent = not known").optional(),
  })
  .meta({ id: "Source", description: "A source of targets." });

/** What is known of the discovery of an endpoint's targets. */
export const discoverySchema = z
  .object({
    sources: z.array(sourceSchema),
    unconfirmed: z.array(z.string()).meta({ description: "Targets that sources propose and that no probe confirms." }),
    ignored: z.number().meta({ description: "Targets that are left out since there are more than maxTargets." }),
  })
  .meta({ id: "Discovery", description: "Where the targets of an endpoint come from." });

/** One endpoint. */
export const endpointSchema = z
  .object({
    endpoint: z.string().meta({ description: "Full name, such as api.k8s.example.com." }),
    port: z.number(),
    ttl: z.number().meta({ description: "Seconds." }),
    mode: z.enum(["healthy", "fail-open", "none"]).meta({
      description:
        "On what grounds it answers: enough targets are up, too few are (whenAllDown), or it answers nothing.",
    }),
    upTargets: z.number(),
    minHealthy: z.number(),
    answers: z.array(z.string()).meta({ description: "The addresses that are answered now." }),
    targets: z.array(targetSchema),
    discovery: discoverySchema.optional().meta({ description: "Absent without discover." }),
  })
  .meta({ id: "Endpoint", description: "A health-aware name and what it answers." });

/** A setting of the configuration that holds only from the next start. */
export const pendingSettingSchema = z
  .object({
    setting: z.string().meta({ description: "Key in the main file, such as admin.http." }),
    running: z.string().optional().meta({ description: "What the server runs with; absent = not set." }),
    configured: z.string().optional().meta({ description: "What the configuration says now; absent = not set." }),
  })
  .meta({ id: "PendingSetting", description: "A setting that was changed and holds only from the next start." });

const needRestart = z
  .array(pendingSettingSchema)
  .optional()
  .meta({ description: "Settings that a reload could not take: they need a restart." });

const siblingDrains = z
  .array(siblingDrainSchema)
  .optional()
  .meta({ description: "What each sibling says of a drain; safeAtMs is the latest of all." });

/** Everything the server thinks. */
export const statusSchema = z
  .object({
    version: z.string().meta({ description: "Version of the server." }),
    nowMs: wallMs("When this was true"),
    startedMs: wallMs("When the server started"),
    ready: z.boolean().meta({ description: "Whether queries are answered." }),
    isolated: z
      .boolean()
      .meta({ description: "Whether the prober is presumed cut off and the last answers are held." }),
    clockSuspect: z.boolean().optional().meta({
      description: "Whether no certificate is valid yet, so that the server's clock is suspect; absent = no.",
    }),
    writable: z.boolean().meta({ description: "Whether this way in may change state." }),
    siblings: siblingsSchema.optional(),
    secondaries: secondariesSchema.optional(),
    lastReload: z.object({ atMs: wallMs("When a configuration was last read"), ok: z.boolean() }),
    needRestart,
    lastEventId: z.string().meta({ description: "Newest event; resume /api/v1/events from here." }),
    zones: z.array(z.object({ zone: z.string(), serial: z.number(), endpoints: z.array(endpointSchema) })),
  })
  .meta({ id: "Status", description: "Everything the server thinks at one moment." });

const safeAt = wallMs(
  "From when on no cache that honours the TTL can hold an address of the target; absent while it is answered",
).optional();

/** One target with what its probes found lately. */
export const targetDetailSchema = z
  .object({
    endpoint: z.string(),
    nowMs: wallMs("When this was true"),
    target: targetSchema,
    safeAtMs: safeAt,
    siblings: siblingDrains,
    history: z.array(
      z.object({
        address: z.string(),
        results: z
          .array(z.object({ atMs: wallMs("End of the probe"), ...resultSchema.shape }))
          .meta({ description: "Oldest first, at most 100." }),
      }),
    ),
  })
  .meta({ id: "TargetDetail", description: "One target with the results of its last probes." });

/** Text that an operator gives, in characters as people count them: it is never cut later. */
const operatorText = (max: number, about: string) =>
  z
    .string()
    .max(max)
    // Shown on terminals and in logs.
    .regex(/^[^\p{Cc}\p{Cf}]*$/u, "has control characters")
    .meta({ description: about });

const localOption = z.boolean().optional().meta({ description: "Concern this server alone; absent = all siblings." });

const overrideRequest = {
  reason: operatorText(MAX_REASON, "Why; shown wherever the override is.").optional(),
  author: operatorText(MAX_AUTHOR, "Who asks; default: the way in.").optional(),
  for: z
    .string()
    .max(32)
    .optional()
    .meta({ description: 'How long it holds, a duration such as "30m", 1s to 30d; absent = until cleared.' }),
  force: z
    .boolean()
    .optional()
    .meta({ description: "Do it although it leaves the endpoint with fewer targets up than it needs." }),
  local: localOption,
};

/** Body of `drain`. */
export const drainRequestSchema = z
  .strictObject(overrideRequest)
  .meta({ id: "DrainRequest", description: "How to drain a target." });

/** Body of `force`. */
export const forceRequestSchema = z
  .strictObject({ health: z.enum(["up", "down"]), ...overrideRequest })
  .meta({ id: "ForceRequest", description: "What to take a target for, whatever its probes say." });

/** Body of requests that say nothing more. */
export const emptyRequestSchema = z
  .strictObject({ author: overrideRequest.author, local: localOption })
  .meta({ id: "PlainRequest" });

/** What a change to a target led to. */
export const changeSchema = z
  .object({
    endpoint: z.string(),
    target: targetSchema,
    changed: z.boolean().meta({ description: "False when it was so already." }),
    nowMs: wallMs("When this was true"),
    persisted: z.boolean().optional().meta({
      description: "Of an override that was set: false when there is no stateDir, so that it ends with the process.",
    }),
    failsOpen: z.boolean().optional().meta({
      description: "Of an override that was set: whether it left the endpoint with too few targets up.",
    }),
    answeredAgain: z.array(z.string()).optional().meta({
      description:
        "Of an override that was set: drained and forced-down targets that are answered again, since nothing else is left.",
    }),
  })
  .meta({ id: "Change", description: "What a change led to." });

/** What a drain led to. */
export const drainSchema = z
  .object({
    ...changeSchema.shape,
    safeAtMs: safeAt,
    siblings: siblingDrains,
  })
  .meta({ id: "Drain", description: "What a drain led to, and when the apiserver can be stopped." });

/** Body of the request that makes a server leave its port. */
export const leaveRequestSchema = z
  .strictObject({
    threads: z.int().min(1).max(64).meta({ description: "Threads of the successor, which listens already." }),
    author: overrideRequest.author,
  })
  .meta({ id: "LeaveRequest", description: "Who takes over." });

/** What leaving led to. */
export const leaveSchema = z
  .object({ threads: z.int().meta({ description: "Threads the server had." }) })
  .meta({ id: "Leave", description: "Every query was answered; the process is about to end." });

/** What a reload led to. */
export const reloadSchema = z
  .object({ ok: z.literal(true), zones: z.number(), endpoints: z.number(), needRestart })
  .meta({ id: "Reload", description: "The configuration was taken." });

/** Why a request was refused. */
export const errorSchema = z
  .object({
    error: z.object({
      code: z.string().meta({ description: "Stable identifier, such as LAST_ANSWERABLE." }),
      message: z.string(),
      problems: z
        .array(z.string())
        .optional()
        .meta({ description: "What is wrong with the configuration, with file and line." }),
    }),
  })
  .meta({ id: "Error", description: "Why the request was refused." });

const eventBase = { id: z.string(), atMs: wallMs("When it happened") };
const eventTarget = { endpoint: z.string(), target: z.string() };

/** One thing that happened. */
export const eventSchema = z
  .discriminatedUnion("type", [
    z.object({
      ...eventBase,
      type: z.literal("health"),
      ...eventTarget,
      address: z.string(),
      from: healthWord,
      to: healthWord,
      class: z.enum(RESULT_CLASSES),
      reason: z.string(),
      answered: z.boolean(),
    }),
    z.object({
      ...eventBase,
      type: z.literal("answers"),
      endpoint: z.string(),
      mode: z.enum(["healthy", "fail-open", "none"]),
      answers: z.array(z.string()),
    }),
    z.object({
      ...eventBase,
      type: z.literal("override"),
      ...eventTarget,
      action: z.enum(["set", "cleared", "expired"]).optional(),
      author: z.string().optional().meta({ description: "Who set or cleared it, as far as known." }),
      origin: z.string().optional().meta({ description: "By which way that came; see Override." }),
      override: overrideSchema.optional().meta({ description: "Absent = it was cleared or has expired." }),
    }),
    z.object({
      ...eventBase,
      type: z.literal("suppression"),
      ...eventTarget,
      address: z.string(),
      suppressed: z.boolean().meta({ description: "Whether it is kept down from now on because it flaps." }),
      untilMs: wallMs("When it returns if it passes until then").optional(),
    }),
    z.object({
      ...eventBase,
      type: z.literal("targets"),
      endpoint: z.string(),
      joined: z
        .array(z.object({ id: z.string(), addresses: z.array(z.string()), origins: z.array(z.string()) }))
        .meta({ description: "Targets that were discovered, or have other addresses than before." }),
      left: z.array(z.string()).meta({ description: "Targets that were forgotten." }),
    }),
    z.object({
      ...eventBase,
      type: z.literal("source"),
      endpoint: z.string(),
      source: z.string(),
      problem: z.string().optional().meta({ description: "Why it cannot be read; absent = it works again." }),
    }),
    z.object({ ...eventBase, type: z.literal("reload"), ok: z.boolean() }),
    z.object({ ...eventBase, type: z.literal("isolation"), isolated: z.boolean() }),
    z.object({
      ...eventBase,
      type: z.literal("sibling"),
      sibling: z.string(),
      condition: z.string().meta({ description: "fresh, or why what it says does not count; see Siblings." }),
    }),
    z.object({
      ...eventBase,
      type: z.literal("sibling-overrides"),
      sibling: z.string(),
      kept: z.boolean().meta({ description: "Whether the overrides that it tells of can be saved here." }),
      problem: z.string().optional().meta({ description: "Why not; absent = they can." }),
    }),
    z.object({
      ...eventBase,
      type: z.literal("secondary"),
      zone: z.string(),
      secondary: z.string().meta({ description: "Its address and port." }),
      trouble: secondaryTrouble.optional().meta({ description: "Why it has not followed for 5 s; absent = it does." }),
      serial: z.number().optional().meta({ description: "What it said last." }),
      lagMs: z.number().meta({ description: "Milliseconds since the first change that it is not known to have." }),
    }),
    z.object({
      ...eventBase,
      type: z.literal("transfer"),
      zone: z.string(),
      secondary: z.string().meta({ description: "Its address." }),
      kind: transferKind,
      serial: z.number(),
      complete: z.boolean().meta({ description: "Whether the secondary took all of it." }),
    }),
    z.object({ ...eventBase, type: z.literal("ready") }),
  ])
  .meta({ id: "Event", description: "One thing that happened." });

export type OverrideView = z.output<typeof overrideSchema>;
export type AddressView = z.output<typeof addressSchema>;
export type TargetView = z.output<typeof targetSchema>;
export type EndpointView = z.output<typeof endpointSchema>;
export type Status = z.output<typeof statusSchema>;
export type PendingSetting = z.output<typeof pendingSettingSchema>;
export type TargetDetail = z.output<typeof targetDetailSchema>;
export type DrainRequest = z.output<typeof drainRequestSchema>;
export type ForceRequest = z.output<typeof forceRequestSchema>;
export type Change = z.output<typeof changeSchema>;
export type Drain = z.output<typeof drainSchema>;
export type AdminEvent = z.output<typeof eventSchema>;
