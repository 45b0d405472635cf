import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { z } from "zod";
import {
  changeSchema,
  drainSchema,
  errorSchema,
  reloadSchema,
  statusSchema,
  targetDetailSchema,
} from "../../src/admin/schemas.js";
import { VERSION } from "../../src/lib/version.js";
import { afterAllTests } from "../support/cleanup.js";
import {
  type AdminServer,
  type Asked,
  AUTHORITY,
  askAt,
  codeOf,
  ENDPOINT,
  startAdminServer,
  targetRoute,
} from "./server.js";

const cleanup = afterAllTests();
let server: AdminServer;
beforeAll(async () => {
  server = await startAdminServer({ cleanup });
});

const CHANGES = ["drain", "undrain", "force", "unforce"] as const;
const BODIES: Readonly<Record<string, object>> = { force: { health: "up" } };

/** Fails with what is wrong when a reply is not what the schema says. */
function read<S extends z.ZodType>(schema: S, reply: Asked): z.output<S> {
  expect({ status: reply.status, text: reply.text.slice(0, 300) }).toMatchObject({ status: 200 });
  return schema.parse(reply.json);
}

/** What the server thinks of `cp1`. */
async function cp1() {
  const status = read(statusSchema, await askAt(server.socket, "GET", "/api/v1/status"));
  return status.zones[0]?.endpoints.find(({ endpoint }) => endpoint === ENDPOINT)?.targets[0];
}

describe.each(["socket", "http"] as const)("by %s", (way) => {
  const headers = way === "http" ? AUTHORITY : {};
  const ask = (method: string, path: string, body?: object | string) =>
    askAt(server[way], method, path, { headers, ...(body === undefined ? {} : { body }) });

  test("the status tells everything, and who may write", async () => {
    const reply = await ask("GET", "/api/v1/status");
    const status = read(statusSchema, reply);
    expect(reply.headers["livezone-version"]).toBe(VERSION);
    expect(status).toMatchObject({ version: VERSION, ready: true, isolated: false, writable: true });
    expect(status.zones).toHaveLength(1);
    expect(status.zones[0]?.endpoints.map(({ endpoint, mode }) => [endpoint, mode])).toEqual([
      ["api.k8s.example.test", "healthy"],
      ["solo.k8s.example.test", "healthy"],
      ["pair.k8s.example.test", "healthy"],
    ]);
    expect(status.zones[0]?.endpoints[0]).toMatchObject({ ttl: 1, answers: ["127.0.0.11", "127.0.0.12", "::12"] });
  });

  test("a target is found by any spelling of its endpoint", async () => {
    const spelled = ENDPOINT.toUpperCase();
    const detail = read(targetDetailSchema, await ask("GET", `${targetRoute("CP1", undefined, `${spelled}.`)}`));
    expect(detail.target.id).toBe("cp1");
    expect(detail.history).toEqual([{ address: "127.0.0.11", results: [] }]);
  });

  test("a drain withdraws, says when it is safe, expires as told, and ends", async () => {
    const body = { reason: "kernel update", author: "alice", for: "30m" };
    const drained = read(drainSchema, await ask("POST", targetRoute("cp1", "drain"), body));
    expect(drained.target.addresses[0]?.answered).toBe(false);
    const { override } = drained.target;
    expect(override).toMatchObject({ kind: "drained", reason: "kernel update", author: "alice" });
    expect((override?.expiresAtMs ?? 0) - (override?.setAtMs ?? 0)).toBe(30 * 60_000);
    // TTL 1 s and the allowance for what is in flight.
    expect((drained.safeAtMs ?? 0) - drained.nowMs).toBeGreaterThan(1_000);
    expect((drained.safeAtMs ?? 0) - drained.nowMs).toBeLessThanOrEqual(2_000);

    const undrained = read(changeSchema, await ask("POST", targetRoute("cp1", "undrain")));
    expect(undrained).toMatchObject({ changed: true, target: { addresses: [{ answered: true }] } });
    expect(undrained.target.override).toBeUndefined();
    expect(read(changeSchema, await ask("POST", targetRoute("cp1", "undrain"), {})).changed).toBe(false);
  });

  test("a drain that would end before the target is safe to stop is refused, forced or not", async () => {
    for (const force of [false, true]) {
      const reply = await ask("POST", targetRoute("cp1", "drain"), { for: "1s", force });
      expect({ status: reply.status, code: codeOf(reply) }).toEqual({ status: 409, code: "DRAIN_TOO_SHORT" });
      expect((await cp1())?.override).toBeUndefined();
    }
  });

  test("force holds against the probes, and only unforce ends it", async () => {
    const forced = read(changeSchema, await ask("POST", targetRoute("cp1", "force"), { health: "down" }));
    expect(forced.target).toMatchObject({ override: { kind: "forced-down", author: way } });
    expect(forced.target.addresses[0]).toMatchObject({ health: "up", answered: false });
    expect(read(changeSchema, await ask("POST", targetRoute("cp1", "undrain"))).changed).toBe(false);
    expect((await cp1())?.override?.kind).toBe("forced-down");
    expect(read(changeSchema, await ask("POST", targetRoute("cp1", "unforce"))).changed).toBe(true);
    expect((await cp1())?.override).toBeUndefined();
  });

  test.each([
    { what: "the last target", endpoint: "solo.k8s.example.test", code: "LAST_ANSWERABLE" },
    { what: "one of the two that must be up", endpoint: "pair.k8s.example.test", code: "BELOW_MIN_HEALTHY" },
  ])("$what is not taken without force", async ({ endpoint, code }) => {
    for (const [action, body] of [
      ["drain", {}],
      ["force", { health: "down" }],
    ] as const) {
      const reply = await ask("POST", targetRoute("cp1", action, endpoint), body);
      expect({ status: reply.status, code: codeOf(reply) }).toEqual({ status: 409, code });
    }
    const forced = read(drainSchema, await ask("POST", targetRoute("cp1", "drain", endpoint), { force: true }));
    // With nothing else to answer it is answered still, and never safe to stop.
    expect(forced.safeAtMs === undefined).toBe(endpoint.startsWith("solo"));
    read(changeSchema, await ask("POST", targetRoute("cp1", "undrain", endpoint)));
  });

  test.each(CHANGES)("%s knows what there is", async (action) => {
    const body = BODIES[action] ?? {};
    const noEndpoint = await ask("POST", targetRoute("cp1", action, "nope.k8s.example.test"), body);
    expect({ status: noEndpoint.status, code: codeOf(noEndpoint) }).toEqual({ status: 404, code: "NO_SUCH_ENDPOINT" });
    const noTarget = await ask("POST", targetRoute("cp9", action), body);
    expect({ status: noTarget.status, code: codeOf(noTarget) }).toEqual({ status: 404, code: "NO_SUCH_TARGET" });
    expect(noTarget.text).toContain("cp1, cp2");
  });

  test.each([
    ["an unknown member", { resaon: "x" }],
    ["a reason that is no text", { reason: 1 }],
    ["a reason without end", { reason: "x".repeat(201) }],
    ["a reason that would move the cursor", { reason: "\x1b[2J" }],
    ["a number as duration", { for: 30 }],
    ["a duration without a unit", { for: "30" }],
    ["a duration of nothing", { for: "0s" }],
    ["a duration past 30 days", { for: "721h" }],
    ["force that is no flag", { force: "yes" }],
    ["a list", [1]],
    ["half a body", '{"reason":'],
    ["a body that reaches for the prototype", '{"__proto__":{"force":true}}'],
  ])("a drain is refused with %s", async (_, body) => {
    const reply = await ask("POST", targetRoute("cp1", "drain"), body);
    expect({ status: reply.status, code: codeOf(reply) }).toEqual({ status: 400, code: "BAD_REQUEST" });
    expect(errorSchema.parse(reply.json).error.message).not.toBe("");
    expect((await cp1())?.override).toBeUndefined();
  });

  test.each([...CHANGES.map((action) => targetRoute("cp1", action)), "/api/v1/reload", "/api/v1/leave"])(
    "%s takes no oversized body and none but JSON",
    async (path) => {
      const large = await ask("POST", path, JSON.stringify({ reason: "x".repeat(8_192) }));
      expect({ status: large.status, code: codeOf(large) }).toEqual({ status: 413, code: "BODY_TOO_LARGE" });
      const form = await askAt(server[way], "POST", path, {
        headers: { ...headers, "content-type": "application/x-www-form-urlencoded" },
        body: "force=true",
      });
      expect({ status: form.status, code: codeOf(form) }).toEqual({ status: 415, code: "NOT_JSON" });
      expect((await cp1())?.override).toBeUndefined();
    },
  );

  test("a reload is taken whole or refused with every problem", async () => {
    expect(read(reloadSchema, await ask("POST", "/api/v1/reload"))).toEqual({
      ok: true,
      zones: 1,
      endpoints: 3,
      needRestart: [],
    });
    const file = join(server.livezone.folder, "zones/k8s.yaml");
    const right = readFileSync(file, "utf8");
    writeFileSync(file, right.replace("ttl: 1", "ttl: 0\n    tartgets: {}"));
    const refused = await ask("POST", "/api/v1/reload");
    expect({ status: refused.status, code: codeOf(refused) }).toEqual({ status: 409, code: "RELOAD_REFUSED" });
    const { problems } = errorSchema.parse(refused.json).error;
    expect(problems).toHaveLength(2);
    expect(problems?.[0]).toMatch(/^zones\/k8s\.yaml:\d+:\d+: /);
    const status = read(statusSchema, await ask("GET", "/api/v1/status"));
    expect(status.lastReload.ok).toBe(false);
    writeFileSync(file, right);
    read(reloadSchema, await ask("POST", "/api/v1/reload"));
    expect(read(statusSchema, await ask("GET", "/api/v1/status")).lastReload.ok).toBe(true);
  });

  test.each([
    ["GET", "/nope"],
    ["GET", "/api/v1/reload"],
    ["POST", "/api/v1/status"],
    ["DELETE", targetRoute("cp1")],
    ["PUT", targetRoute("cp1", "drain")],
    ["GET", targetRoute("cp1", "drain")],
    ["HEAD", "/api/v1/events"],
    ["GET", "/api/v1/endpoints/%2e%2e/targets/x/y"],
  ])("%s %s is nothing", async (method, path) => {
    const reply = await ask(method, path);
    expect(reply.status).toBe(404);
  });

  test.each([
    ["/livez", "text/plain", "ok\n"],
    ["/readyz", "text/plain", "ok\n"],
    ["/metrics", "text/plain", "livezone_build_info{"],
    ["/openapi.json", "application/json", '"openapi": "3.1.0"'],
    ["/", "text/html", "<title>livezone</title>"],
  ])("%s is %s", async (path, type, content) => {
    const reply = await ask("GET", path);
    expect(reply.status).toBe(200);
    expect(reply.headers["content-type"]).toContain(type);
    expect(reply.text).toContain(content);
    expect(reply.headers).not.toHaveProperty("access-control-allow-origin");
  });
});

describe("simple monitors", () => {
  const raw = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(server.http.port, "127.0.0.1", () => socket.end(text));
      let reply = "";
      socket.setEncoding("latin1").on("data", (chunk) => {
        reply += chunk;
      });
      socket.once("error", reject).once("close", () => resolve(reply));
    });

  test.each(["/livez", "/readyz", "/metrics"])("may ask for %s by HEAD, OPTIONS and HTTP/1.0", async (path) => {
    const full = await askAt(server.http, "GET", path);
    const head = await askAt(server.http, "HEAD", path);
    expect({ status: head.status, text: head.text, type: head.headers["content-type"] }).toEqual({
      status: 200,
      text: "",
      type: full.headers["content-type"],
    });
    const options = await askAt(server.http, "OPTIONS", path);
    expect({ status: options.status, allow: options.headers.allow }).toEqual({
      status: 204,
      allow: "GET, HEAD, OPTIONS",
    });
    expect(await raw(`GET ${path} HTTP/1.0\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await raw(`HEAD ${path} HTTP/1.0\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("need a Host header for anything else, and the right one wherever they send it", async () => {
    expect(await raw("GET /api/v1/status HTTP/1.0\r\n\r\n")).toMatch(/^HTTP\/1\.1 421 /);
    expect(await raw("GET /livez HTTP/1.0\r\nHost: elsewhere.example\r\n\r\n")).toMatch(/^HTTP\/1\.1 421 /);
    expect(await raw("GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n")).toMatch(/^HTTP\/1\.1 4/);
  });
});

test("a request whose client has gone while the process stood still is not carried out", async () => {
  const { socket, livezone } = await startAdminServer();
  livezone.signal("SIGSTOP");
  const body = "{}";
  const client = connect(socket.socketPath);
  client.on("error", () => {});
  const head = `POST ${targetRoute("cp1", "drain")} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
  await new Promise<void>((resolve) =>
    client.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`, () => resolve()),
  );
  client.destroy();
  livezone.signal("SIGCONT");
  await livezone.waitForLog("request not carried out, its client has gone");
  expect(livezone.logs("override set")).toEqual([]);
});

describe("a change of state", () => {
  test("is in the log with who and why", async () => {
    const body = { reason: "disk", author: "bob" };
    read(drainSchema, await askAt(server.socket, "POST", targetRoute("cp1", "drain"), { body }));
    const line = await server.livezone.waitForLog("override set", ({ author }) => author === "bob");
    expect(line).toMatchObject({ zone: "k8s.example.test", endpoint: "api", target: "cp1", override: "drained" });
    expect(line.origin).toBe("operator");
    read(
      changeSchema,
      await askAt(server.socket, "POST", targetRoute("cp1", "undrain"), { body: { author: "alice" } }),
    );
    const cleared = await server.livezone.waitForLog("override cleared", ({ author }) => author === "alice");
    expect(cleared).toMatchObject({ target: "cp1", origin: "operator", setBy: "bob", reason: "disk" });
    read(changeSchema, await askAt(server.socket, "POST", targetRoute("cp1", "force"), { body: { health: "up" } }));
    read(
      changeSchema,
      await askAt(server.socket, "POST", targetRoute("cp1", "unforce"), { body: { author: "carol" } }),
    );
    await server.livezone.waitForLog(
      "override cleared",
      ({ author, setBy }) => author === "carol" && setBy === "socket",
    );
  });
});
