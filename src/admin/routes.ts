import type { z } from "zod";
import { historySchema } from "./history-schema.js";
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
import type { AdminService, Asker, OverrideOrder, TargetName } from "./service.js";

/** Way in of a request. */
export type Entry = "socket" | "http";

/** What a handler gets: the request after every check. */
export interface Asked<Body> {
  readonly service: AdminService;
  /** Lower case, without a final dot; empty in routes without. */
  readonly name: TargetName;
  readonly body: Body;
  /** Who asks, as far as known, and whether that one still waits. */
  readonly by: Asker;
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
    handle: ({ service }) => service.status(),
  },
  {
    method: "GET",
    path: "/api/v1/history",
    operation: "history",
    summary: "What happened lately: results of probes, numbers of answers, rates of queries, events",
    reply: historySchema,
    refusals: [],
    handle: ({ service }) => service.history(),
  },
  {
    method: "GET",
    path: TARGET,
    operation: "target",
    summary: "One target, with the last 100 results of each address",
    reply: targetDetailSchema,
    refusals: NO_TARGET,
    handle: ({ service, name }) => service.target(name),
  },
  route({
    method: "POST",
    path: `${TARGET}/drain`,
    operation: "drain",
    summary: "Takes a target out of the answers, and says when it is safe to stop it",
    body: drainRequestSchema,
    reply: drainSchema,
    refusals: [...NO_TARGET, ...TOO_FEW, "DRAIN_TOO_SHORT"],
    handle: ({ service, name, body, by }) => service.drain(name, orderOf(body, by)),
  }),
  route({
    method: "POST",
    path: `${TARGET}/undrain`,
    operation: "undrain",
    summary: "Ends a drain: health decides again",
    body: emptyRequestSchema,
    reply: changeSchema,
    refusals: NO_TARGET,
    handle: ({ service, name, by }) => service.undrain(name, by),
  }),
  route({
    method: "POST",
    path: `${TARGET}/force`,
    operation: "force",
    summary: "Takes a target for up or down, whatever its probes say",
    body: forceRequestSchema,
    reply: changeSchema,
    refusals: [...NO_TARGET, ...TOO_FEW],
    handle: ({ service, name, body, by }) => service.force(name, body.health, orderOf(body, by)),
  }),
  route({
    method: "POST",
    path: `${TARGET}/unforce`,
    operation: "unforce",
    summary: "Ends what force began: health decides again",
    body: emptyRequestSchema,
    reply: changeSchema,
    refusals: NO_TARGET,
    handle: ({ service, name, by }) => service.unforce(name, by),
  }),
  route({
    method: "POST",
    path: `${TARGET}/unsuppress`,
    operation: "unsuppress",
    summary: "Ends the suppression of a target that flaps: it is answered again with its next good probe",
    body: emptyRequestSchema,
    reply: changeSchema,
    refusals: NO_TARGET,
    handle: ({ service, name, by }) => service.unsuppress(name, by),
  }),
  route({
    method: "POST",
    path: "/api/v1/reload",
    operation: "reload",
    summary: "Takes the configuration anew, as a whole or not at all",
    body: emptyRequestSchema,
    reply: reloadSchema,
    refusals: ["RELOAD_REFUSED"],
    handle: async ({ service }) => ({ ok: true, ...(await service.reload()) }),
  }),
  route({
    method: "POST",
    path: "/api/v1/leave",
    operation: "leave",
    summary: "Leaves the port to a successor that listens already, and ends: what `serve --takeover` asks for",
    body: leaveRequestSchema,
    reply: leaveSchema,
    refusals: [],
    handle: async ({ service, body }) => ({ threads: await service.leave(body.threads) }),
  }),
];

function orderOf(body: DrainRequest, by: Asker): OverrideOrder {
  const { reason, for: lasting, force } = body;
  return {
    ...by,
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
