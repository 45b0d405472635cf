import { z } from "zod";
import { choice, duration, flag, leaf, listenAddress, text } from "./option.js";
import type { Verdict } from "./parse-result.js";

/* The options of `siblings` in the main file; see `schema.ts` for what an entry says. */

/** The form of a server's name, as it appears in the status, in logs and as the origin of an override. */
const NAME = /^[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?$/;

/** What this server does while it is cut off from every target and a sibling is heard. */
const WHEN_ISOLATED = ["hold", "silent"] as const;

export const siblingsOptions = {
  name: leaf(
    { type: "string", pattern: NAME.source },
    { about: "Name of this server among its siblings, such as ns1." },
    parseSiblingName,
  ),
  listen: listenAddress({ about: "Address and port on which siblings connect, over TLS 1.3." }),
  peers: z.record(z.string(), listenAddress({ about: "Address and port of a sibling." })).meta({
    description: "The siblings: their own name and where they listen, 1 to 7.",
  }),
  secretFile: text("the path of a file", {
    about:
      "File with the secret that all siblings share, relative to this file: one or two lines of 64 hexadecimal digits; both are accepted.",
  }),
  shareOverrides: flag({ about: "Whether drains and forces hold on all siblings.", default: true }).optional(),
  holdAtMost: duration(
    { min: "0ms", max: "5m" },
    {
      about:
        "How long a sibling that sees a target up may keep it in the answers, if it is one of the last and fails here in a way that may be the network.",
      default: "10s",
    },
  ).optional(),
  whenIsolated: choice(WHEN_ISOLATED, {
    about:
      "What to do while this server is cut off from every target and a sibling is not: hold the last answers, or be silent, so that resolvers ask the sibling.",
    default: "hold",
  }).optional(),
} as const;

export const siblings = z
  .strictObject(siblingsOptions, { error: () => "siblings" })
  .meta({ description: "Other servers of the same zones, with which this one shares overrides and verdicts." });

/** The name of a server among its siblings: lower case once read. */
export function parseSiblingName(value: unknown): Verdict<string> {
  const name = typeof value === "string" ? value.toLowerCase() : undefined;
  if (name !== undefined && NAME.test(name)) return { value: name };
  return {
    why: "that is not the name of a server",
    remedy: 'Write up to 63 letters, digits, dots and hyphens, such as "ns1".',
    code: "CONFIG_SIBLING_NAME",
  };
}
