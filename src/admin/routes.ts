import type { z } from "zod";
import { parseLasting } from "./override-duration.js";
import {
  changeSchema,
  type DrainRequest,
  drainRequestSchema,
  drainSchema,
  emptyRequestSchema,
  forceRequestSchema,
  leaveRequestSchema,
  leaveSchema,
  reloadSchema,
  statusSchema,
  targetDetailSchema,
} from "./schemas.js";
import type { Control, OverrideOrder, TargetName } from "./service.js";

/** Way in of a request. */
export type Entry = "socket" | "http";

/** What a handler gets: the request after every check. */
export interface Asked<Body> {
  readonly control: Control;
  /** Lower case, without a final dot; empty in routes without. */
  readonly name: TargetName;
  readonly body: Body;
  /** Who asks, as far as known. */
  readonly author: string;
}

/** One route of the API that takes and gives JSON: what the server registers and what the document describes. */
export interface Route {
  readonly method: "GET" | "POST";
  /** As OpenAPI writes it. */
  readonly path: string;
  readonly operation: string;
  readonly summary: string;
  /** Absent = takes no body. */
  readonly body?: z.ZodType;
  readonly reply: z.ZodType;
  /** Codes it may be refused with, besides those of every route. */
  readonly refusals: readonly string[];
  handle(asked: Asked<unknown>): unknown;
}

/** A duration that was asked for and cannot be. */
export class BadDuration extends Error {}

const TARGET = "/api/v1/endpoints/{endpoint}/targets/{target}";
const NO_TARGET = ["NO_SUCH_ENDPOINT", "NO_SUCH_TARGET"] as const;
const TOO_FEW = ["LAST_ANSWERABLE", "BELOW_MIN_HEALTHY"] as const;

/** A route whose handler knows what its body schema makes. */
function route<B extends z.ZodType>(
  entry: Omit<Route, "handle" | "body"> & { readonly body: B; handle(asked: Asked<z.output<B>>): unknown },
): Route {
  return { ...entry, handle: (asked) => entry.handle(asked as Asked<z.output<B>>) };
}

/** Every JSON route. */
export const ROUTES: readonly Route[] = [
  {
    method: "GET",
    path: "/api/v1/status",
    operation: "status",
    summary: "Everything the server thinks: zones, endpoints, targets, health, overrides, answers",
    reply: statusSchema,
    refusals: [],
    handle: ({ control }) => control.status(),
  },
  {
    method: "GET",
    path: TARGET,
    operation: "target",
    summary: "One target, with the last 100 results of each address",
    reply: targetDetailSchema,
    refusals: NO_TARGET,
    handle: ({ control, name }) => control.target(name),
  },
  route({
    method: "POST",
    path: `${TARGET}/drain`,
    operation: "drain",
    summary: "Takes a target out of the answers, and says when it is safe to stop it",
    body: drainRequestSchema,
    reply: drainSchema,
    refusals: [...NO_TARGET, ...TOO_FEW, "DRAIN_TOO_SHORT"],
    handle: ({ control, name, body, author }) => control.drain(name, orderOf(body, author)),
  }),
  route({
    method: "POST",
    path: `${TARGET}/undrain`,
    operation: "undrain",
    summary: "Ends a drain: health decides again",
    body: emptyRequestSchema,
    reply: changeSchema,
    refusals: NO_TARGET,
    handle: ({ control, name, author }) => control.undrain(name, author),
  }),
  route({
    method: "POST",
    path: `${TARGET}/force`,
    operation: "force",
    summary: "Takes a target for up or down, whatever its probes say",
    body: forceRequestSchema,
    reply: changeSchema,
    refusals: [...NO_TARGET, ...TOO_FEW],
    handle: ({ control, name, body, author }) => control.force(name, body.health, orderOf(body, author)),
  }),
  route({
    method: "POST",
    path: `${TARGET}/unforce`,
    operation: "unforce",
    summary: "Ends what force began: health decides again",
    body: emptyRequestSchema,
    reply: changeSchema,
    refusals: NO_TARGET,
    handle: ({ control, name, author }) => control.unforce(name, author),
  }),
  route({
    method: "POST",
    path: "/api/v1/reload",
    operation: "reload",
    summary: "Takes the configuration anew, as a whole or not at all",
    body: emptyRequestSchema,
    reply: reloadSchema,
    refusals: ["RELOAD_REFUSED"],
    handle: async ({ control }) => ({ ok: true, ...(await control.reload()) }),
  }),
  route({
    method: "POST",
    path: "/api/v1/leave",
    operation: "leave",
    summary: "Leaves the port to a successor that listens already, and ends: what `serve --takeover` asks for",
    body: leaveRequestSchema,
    reply: leaveSchema,
    refusals: [],
    handle: async ({ control, body }) => ({ threads: await control.leave(body.threads) }),
  }),
];

function orderOf(body: DrainRequest, author: string): OverrideOrder {
  const { reason, for: lasting, force } = body;
  return {
    author,
    ...(reason === undefined || reason === "" ? {} : { reason }),
    ...(lasting === undefined ? {} : { forMs: lastingMs(lasting) }),
    ...(force === undefined ? {} : { force }),
  };
}

/** @throws BadDuration */
function lastingMs(text: string): number {
  const lasting = parseLasting(text);
  if ("why" in lasting) throw new BadDuration(`for: ${lasting.why}`);
  return lasting.ms;
}
