import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { changeSchema, type TargetView } from "../../src/admin/schemas.js";
import { VERSION } from "../../src/lib/version.js";
import { afterThisTest } from "../support/cleanup.js";

/** A request that a stand-in got. */
export interface Asked {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly body: unknown;
}

/** What replies in the place of a server. */
export interface StandIn {
  readonly url: string;
  /** Every request so far. */
  readonly asked: readonly Asked[];
}

/** Replies to each method as a server of this version would; another status than 200 is a refusal. */
export async function startStandIn(replies: Readonly<Record<string, object>>, status = 200): Promise<StandIn> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    asked.push({ method: request.method, path: request.url, body: text === "" ? undefined : JSON.parse(text) });
    const headers = { "livezone-version": VERSION, "content-type": "application/json" };
    response.writeHead(status, headers).end(JSON.stringify(replies[request.method ?? ""]));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterThisTest(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

/** What a refusal looks like. */
export function refusal(code: string, message: string, problems?: readonly string[]): Readonly<Record<string, object>> {
  return { POST: { error: { code, message, ...(problems === undefined ? {} : { problems }) } } };
}

/** A target `cp1` with one address that is up. */
export function targetUp(address: Partial<TargetView["addresses"][number]> = {}): TargetView {
  return {
    id: "cp1",
    addresses: [{ address: "192.0.2.11", health: "up", sinceMs: 0, answered: true, ...address }],
  };
}

/** What a change to `cp1` of `api.k8s.example.test` led to, in the form that a server gives. */
export function change(more: object = {}) {
  const base = { endpoint: "api.k8s.example.test", target: targetUp(), changed: true, nowMs: 1 };
  return changeSchema.parse({ ...base, ...more });
}
