import { z } from "zod";

/* What the admin API says of secondaries; see `schemas.ts`. */

const wallMs = (about: string) => z.number().meta({ description: `${about}, milliseconds since 1970.` });

/** How a zone was transferred; `current`: the secondary had it already. */
export const transferKind = z.enum(["axfr", "ixfr", "current"]);

/** Why a secondary does not answer as this server does. */
export const secondaryTrouble = z.enum(["behind", "silent", "lame"]).meta({
  description: "behind: it has an older serial; silent: it answers no query; lame: it does not have the zone.",
});

/** Servers that are told of the changes of a zone, one entry for each zone and server. */
export const secondariesSchema = z
  .array(
    z.object({
      zone: z.string(),
      address: z.string().meta({ description: "Its address and port." }),
      serial: z.number().optional().meta({ description: "What it said last; absent = nothing yet." }),
      checkedAtMs: wallMs("When it said so").optional(),
      lagMs: z.number().meta({
        description: "Milliseconds since the first change that it is not known to have; 0 = it has all.",
      }),
      trouble: secondaryTrouble.optional(),
      notifiedAtMs: wallMs("When it was notified last; absent = not yet").optional(),
      acknowledged: z
        .object({ atMs: wallMs("When"), rcode: z.string().meta({ description: "Such as NOERROR or REFUSED." }) })
        .optional()
        .meta({ description: "Its last reply to a NOTIFY; absent = none yet." }),
      transferred: z
        .object({
          atMs: wallMs("When it ended"),
          kind: transferKind,
          serial: z.number(),
          octets: z.number(),
          complete: z.boolean().meta({ description: "Whether the secondary took all of it." }),
        })
        .optional()
        .meta({ description: "The last transfer to its address; absent = none since the start." }),
    }),
  )
  .meta({ id: "Secondaries", description: "Servers that are told of the changes of a zone." });
