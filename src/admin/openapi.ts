import { z } from "zod";
import { VERSION } from "../lib/version.js";
import { historySchema, stripSchema } from "./history-schema.js";
import { ROUTES, type Route } from "./routes.js";
import {
  addressSchema,
  changeSchema,
  discoverySchema,
  drainRequestSchema,
  drainSchema,
  emptyRequestSchema,
  endpointSchema,
  errorSchema,
  eventSchema,
  forceRequestSchema,
  leaveRequestSchema,
  leaveSchema,
  overrideSchema,
  pendingSettingSchema,
  reloadSchema,
  resultSchema,
  sourceSchema,
  statusSchema,
  targetDetailSchema,
  targetSchema,
} from "./schemas.js";
import { secondariesSchema } from "./secondary-schemas.js";
import { REFUSALS } from "./service.js";
import { siblingDrainSchema, siblingsSchema } from "./sibling-schemas.js";

/** Schemas that the document gives a name. */
const NAMED: Readonly<Record<string, z.ZodType>> = {
  Address: addressSchema,
  Change: changeSchema,
  Discovery: discoverySchema,
  Drain: drainSchema,
  DrainRequest: drainRequestSchema,
  Endpoint: endpointSchema,
  Error: errorSchema,
  Event: eventSchema,
  ForceRequest: forceRequestSchema,
  History: historySchema,
  Leave: leaveSchema,
  LeaveRequest: leaveRequestSchema,
  Override: overrideSchema,
  PendingSetting: pendingSettingSchema,
  PlainRequest: emptyRequestSchema,
  Reload: reloadSchema,
  Result: resultSchema,
  ResultStrip: stripSchema,
  Source: sourceSchema,
  Secondaries: secondariesSchema,
  SiblingDrain: siblingDrainSchema,
  Siblings: siblingsSchema,
  Status: statusSchema,
  Target: targetSchema,
  TargetDetail: targetDetailSchema,
};

const SCHEMAS = "#/components/schemas/";

type Json = Record<string, unknown>;

/** The description of the API as OpenAPI 3.1, served at `/openapi.json` and shipped as `livezone.openapi.json`. */
export function openApiDocument(): Json {
  const paths: Record<string, Json> = {};
  for (const route of ROUTES) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "livezone admin API",
      version: VERSION,
      description:
        "The same routes by the control socket (admin.socket) and by HTTP (admin.http). By HTTP, requests that change state need the bearer token of admin.tokenFile; without that file none is granted.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    paths: { ...paths, ...plainPaths() },
    components: {
      schemas: namedSchemas(),
      securitySchemes: { token: { type: "http", scheme: "bearer", description: "By HTTP only." } },
    },
  };
}

let text: string | undefined;

/** {@link openApiDocument} as it is shipped. */
export function openApiText(): string {
  text ??= `${JSON.stringify(openApiDocument(), null, 2)}\n`;
  return text;
}

function namedSchemas(): Json {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(NAMED)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { uri: (id) => `${SCHEMAS}${id}`, io: "output" });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $id: _id, $schema: _schema, id: _name, ...schema }]) => [id, schema]),
  );
}

function operation(route: Route): Json {
  const parameters = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    description: name === "endpoint" ? "Full name, such as api.k8s.example.com." : "The target's id.",
    schema: { type: "string" },
  }));
  const changes = route.method === "POST";
  const statuses = new Map<number, string[]>();
  const refuse = (status: number, code: string) => statuses.set(status, [...(statuses.get(status) ?? []), code]);
  for (const code of route.refusals) refuse(REFUSALS[code as keyof typeof REFUSALS], code);
  if (changes) {
    for (const [status, code] of REFUSED_CHANGES) refuse(status, code);
  }
  refuse(421, "HOST_UNKNOWN");
  return {
    operationId: route.operation,
    summary: route.summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === undefined ? {} : { requestBody: { required: false, content: json(route.body) } }),
    responses: {
      200: { description: "Done.", content: json(route.reply) },
      ...Object.fromEntries(
        [...statuses].map(([status, codes]) => [
          status,
          { description: `Refused: ${codes.join(", ")}.`, content: json(errorSchema) },
        ]),
      ),
    },
    ...(changes ? { security: [{ token: [] }, {}] } : {}),
  };
}

/** What any request that changes state may be refused with. */
const REFUSED_CHANGES = [
  [400, "BAD_REQUEST"],
  [401, "TOKEN_MISSING"],
  [401, "TOKEN_WRONG"],
  [403, "HTTP_READ_ONLY"],
  [413, "BODY_TOO_LARGE"],
  [415, "NOT_JSON"],
  [503, "TOKEN_UNREADABLE"],
] as const;

function json(schema: z.ZodType): Json {
  const named = Object.entries(NAMED).find(([, candidate]) => candidate === schema);
  if (named === undefined) throw new Error("a schema of a route has no name in the document");
  return { "application/json": { schema: { $ref: `${SCHEMAS}${named[0]}` } } };
}

function plainPaths(): Record<string, Json> {
  const plain = (summary: string, type: string, more: Json = {}): Json => ({
    get: {
      summary,
      responses: { 200: { description: "Done.", content: { [type]: { schema: { type: "string" } } } }, ...more },
    },
  });
  return {
    "/api/v1/events": {
      get: {
        operationId: "events",
        summary: "Everything that happens, as server-sent events; the data of each is an Event",
        parameters: [
          {
            name: "Last-Event-ID",
            in: "header",
            description:
              "Newest event the reader knows. What came after it is sent first; if that is gone, an event of type reset says to look at everything anew.",
            schema: { type: "string" },
          },
          {
            name: "since",
            in: "query",
            description: "The same, for clients that set no header.",
            schema: { type: "string" },
          },
        ],
        responses: {
          200: {
            description: "A stream that does not end.",
            content: { "text/event-stream": { schema: { $ref: `${SCHEMAS}Event` } } },
          },
          503: { description: "Refused: TOO_MANY_SUBSCRIBERS.", content: json(errorSchema) },
        },
      },
    },
    "/metrics": plain("Metrics for Prometheus", "text/plain"),
    "/livez": plain("Whether the process runs", "text/plain"),
    "/readyz": plain("Whether queries are answered", "text/plain", { 503: { description: "Not yet." } }),
    "/openapi.json": plain("This document", "application/json"),
    "/": plain("The status page", "text/html"),
  };
}
