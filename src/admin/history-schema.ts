import { z } from "zod";
import { RESULT_CLASSES } from "../health/health.js";
import { eventSchema } from "./schemas.js";

const rates = z.array(z.number()).meta({ description: "A second, oldest first." });

/** The last results of one address, compact: the status page reads those of hundreds. */
export const stripSchema = z
  .object({
    endpoint: z.string(),
    target: z.string(),
    address: z.string(),
    lastMs: z.number().meta({ description: "End of the newest probe, milliseconds since 1970." }),
    results: z.string().meta({
      description: "One character for each result, oldest first, at most 100: its place in `classes`, in base 36.",
    }),
    durationsMs: z.array(z.int()).meta({ description: "How long each took." }),
  })
  .meta({ id: "ResultStrip", description: "The last results of one address." });

/** What happened lately: what the status page shows besides the status. */
export const historySchema = z
  .object({
    nowMs: z.number().meta({ description: "When this was true, milliseconds since 1970." }),
    classes: z.array(z.enum(RESULT_CLASSES)),
    strips: z.array(stripSchema),
    answers: z
      .array(
        z.object({
          endpoint: z.string(),
          changes: z.array(
            z.object({
              atMs: z.number().meta({ description: "Milliseconds since 1970." }),
              addresses: z.int().meta({ description: "How many were answered from then on." }),
              mode: z.enum(["healthy", "fail-open", "none"]),
            }),
          ),
        }),
      )
      .meta({ description: "Of the last day, at most 200 changes for each endpoint, oldest first." }),
    queries: z
      .object({
        stepMs: z.int(),
        untilMs: z.number().meta({ description: "End of the newest sample; 0 = there is none yet." }),
        rates: z.object({
          noerror: rates,
          nxdomain: rates,
          refused: rates,
          servfail: rates,
          other: rates,
          dropped: rates,
        }),
      })
      .meta({ description: "Replies a second in the last hour, by response code." }),
    events: z.array(eventSchema).meta({ description: "The newest, at most 100, oldest first." }),
  })
  .meta({ id: "History", description: "What happened lately." });

export type History = z.output<typeof historySchema>;
