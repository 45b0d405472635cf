import { z } from "zod";

/* What the admin API says of siblings; see `schemas.ts`. */

const wallMs = (about: string) => z.number().meta({ description: `${about}, milliseconds since 1970.` });

/** Other servers of the same zones. */
export const siblingsSchema = z
  .object({
    name: z.string().meta({ description: "Name of this server among them." }),
    cutOff: z.boolean().meta({
      description: "Whether this server is cut off from every target while a sibling is not.",
    }),
    peers: z.array(
      z.object({
        name: z.string(),
        address: z.string().meta({ description: "Where it listens." }),
        condition: z
          .enum(["fresh", "unheard", "disconnected", "silent", "isolated", "late", "starting", "oneself"])
          .meta({ description: "fresh: what it says counts; else why not." }),
        sinceMs: wallMs("When that changed last"),
        trouble: z.string().optional().meta({ description: "Why this server cannot speak to it; absent = it can." }),
        overridesNotKept: z
          .enum(["here", "there", "both"])
          .optional()
          .meta({ description: "Where overrides of the other one could not be saved, and so do not hold." }),
        clockDifferenceMs: z.number().optional().meta({
          description: "By how much its clock is ahead of this server's, milliseconds; negative: behind.",
        }),
        zonesDiffer: z
          .array(z.string())
          .optional()
          .meta({ description: "Zones whose configuration is another one there." }),
        differences: z
          .array(z.object({ endpoint: z.string(), here: z.array(z.string()), there: z.array(z.string()) }))
          .optional()
          .meta({ description: "Endpoints that it answers with other addresses, at most 20." }),
      }),
    ),
  })
  .meta({ id: "Siblings", description: "Other servers of the same zones." });

/** What a sibling says of a target that was drained. */
export const siblingDrainSchema = z
  .object({
    name: z.string(),
    heard: z.boolean().meta({ description: "False: it did not reply, so that it may answer the target still." }),
    drained: z.boolean().meta({ description: "Whether it keeps the target out of its answers." }),
    safeAtMs: wallMs("From when on the target can be stopped, as far as it goes").optional(),
  })
  .meta({ id: "SiblingDrain", description: "What a sibling says of a target that was drained." });
