import Fastify from "fastify";
import type { Registry } from "prom-client";
import { type Listening, listenError, type SocketAddress } from "../lib/listening.js";

/** What the HTTP routes read. */
export interface AdminSource {
  readonly registry: Registry;
  /** Whether queries are answered. */
  isReady(): boolean;
}

/** Octets of a request's body; no route takes one. */
const MAX_BODY_OCTETS = 1024;

/** Opens the admin HTTP listener: `/metrics`, `/livez`, `/readyz`. @throws UserError if it cannot be opened */
export async function openAdminHttp(at: SocketAddress, source: AdminSource): Promise<Listening> {
  const server = Fastify({
    bodyLimit: MAX_BODY_OCTETS,
    forceCloseConnections: true,
    connectionTimeout: 10_000,
    requestTimeout: 10_000,
  });
  server.get("/livez", (_request, reply) => reply.type("text/plain").send("ok\n"));
  server.get("/readyz", (_request, reply) => {
    const isReady = source.isReady();
    return reply
      .code(isReady ? 200 : 503)
      .type("text/plain")
      .send(isReady ? "ok\n" : "waiting for the first round of probes\n");
  });
  server.get("/metrics", async (_request, reply) =>
    reply.type(source.registry.contentType).send(await source.registry.metrics()),
  );
  try {
    await server.listen({ host: at.address, port: at.port });
  } catch (error) {
    throw listenError("HTTP", at, error);
  }
  const bound = server.server.address();
  return {
    address: { address: at.address, port: typeof bound === "object" && bound !== null ? bound.port : at.port },
    stop: () => server.close(),
  };
}
