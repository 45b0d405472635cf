import { spawnSync } from "node:child_process";
import { chmodSync, unlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { judgeHost } from "../../src/admin/authorization.js";
import { statusSchema } from "../../src/admin/schemas.js";
import { afterAllTests } from "../support/cleanup.js";
import { findProgram } from "../support/programs.js";
import { waitUntil } from "../support/wait.js";
import { type AdminServer, AUTHORITY, askAt, codeOf, startAdminServer, TOKEN, targetRoute } from "./server.js";

/** Every request that changes state. */
const CHANGES = [
  targetRoute("cp1", "drain"),
  targetRoute("cp1", "undrain"),
  targetRoute("cp1", "force"),
  targetRoute("cp1", "unforce"),
  "/api/v1/reload",
  "/api/v1/leave",
] as const;

const bodyOf = (path: string) => (path.endsWith("/force") ? { health: "down" } : {});

/** What there is to change: overrides, and when a configuration was read. */
async function stateOf({ socket }: AdminServer): Promise<unknown> {
  const status = statusSchema.parse((await askAt(socket, "GET", "/api/v1/status")).json);
  const targets = status.zones.flatMap(({ endpoints }) => endpoints.flatMap((endpoint) => endpoint.targets));
  return [status.lastReload, targets.map(({ override }) => override)];
}

describe("the Host header", () => {
  test.each([
    "localhost",
    "localhost:9853",
    "LOCALHOST.",
    "lz.localhost",
    "127.0.0.1:9853",
    "192.0.2.7",
    "[::1]:9853",
    "[2001:db8::1]",
    hostname(),
    "ns1.example.com:80",
  ])("may be %s", (host) => {
    expect(judgeHost(host, ["ns1.example.com"])).toBeUndefined();
  });

  test.each([
    undefined,
    "",
    "evil.example",
    "evil.example:9853",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "notlocalhost",
    "[evil.example]",
    "127.0.0.1@evil.example",
    "127.0.0.1:9853, evil.example",
    "ns2.example.com",
    "::1",
    "localhost:port",
  ])("may not be %s", (host) => {
    expect(judgeHost(host, ["ns1.example.com"])).toMatchObject({ status: 421, code: "HOST_UNKNOWN" });
  });
});

describe("HTTP with a token file", () => {
  const cleanup = afterAllTests();
  let server: AdminServer;
  beforeAll(async () => {
    server = await startAdminServer({ cleanup, admin: "tokenFile: token, hostNames: ns1.k8s.example.test" });
  });

  test.each([
    ["no token", undefined, "TOKEN_MISSING"],
    ["an empty one", "Bearer ", "TOKEN_MISSING"],
    ["another scheme", `Basic ${Buffer.from(TOKEN).toString("base64")}`, "TOKEN_MISSING"],
    ["a wrong one", "Bearer wrong", "TOKEN_WRONG"],
    ["the beginning of the right one", `Bearer ${TOKEN.slice(0, -1)}`, "TOKEN_WRONG"],
    ["more than the right one", `Bearer ${TOKEN}x`, "TOKEN_WRONG"],
    ["one in another case", `Bearer ${TOKEN.toUpperCase()}`, "TOKEN_WRONG"],
  ])("changes nothing with %s", async (_, authorization, code) => {
    const before = await stateOf(server);
    for (const path of CHANGES) {
      const headers = authorization === undefined ? {} : { authorization };
      const reply = await askAt(server.http, "POST", path, { headers, body: bodyOf(path) });
      expect({ path, status: reply.status, code: codeOf(reply) }).toEqual({ path, status: 401, code });
      expect(reply.headers["www-authenticate"]).toBe('Bearer realm="livezone"');
    }
    expect(await stateOf(server)).toEqual(before);
  });

  test("does as told with the right one, and takes a new one at once", async () => {
    const reply = () => askAt(server.http, "POST", targetRoute("cp1", "undrain"), { headers: AUTHORITY });
    expect((await reply()).status).toBe(200);
    const unusable = () => server.livezone.logs("token file cannot be used").map(({ problem }) => problem);
    const told = unusable().length;
    const file = join(server.livezone.folder, "token");
    writeFileSync(file, "another-token-altogether\n");
    expect(codeOf(await reply())).toBe("TOKEN_WRONG");
    writeFileSync(file, "\n");
    expect((await reply()).status).toBe(503);
    expect((await reply()).status).toBe(503);
    unlinkSync(file);
    expect(codeOf(await reply())).toBe("TOKEN_UNREADABLE");
    // The log comes by another way than the reply.
    await waitUntil(() => unusable().length >= told + 2);
    expect(unusable().slice(told)).toEqual(["it is empty", "there is no such file"]);
    writeFileSync(file, TOKEN);
    expect((await reply()).status).toBe(200);
  });

  test("answers nothing at all under a stranger's name, token or not", async () => {
    const before = await stateOf(server);
    const headers = { ...AUTHORITY, host: "rebound.evil.example" };
    for (const path of CHANGES) {
      const reply = await askAt(server.http, "POST", path, { headers, body: bodyOf(path) });
      expect({ status: reply.status, code: codeOf(reply) }).toEqual({ status: 421, code: "HOST_UNKNOWN" });
    }
    for (const path of ["/", "/metrics", "/api/v1/status", "/api/v1/events", targetRoute("cp1"), "/nope"]) {
      expect((await askAt(server.http, "GET", path, { headers })).status).toBe(421);
    }
    expect(await stateOf(server)).toEqual(before);
    const named = await askAt(server.http, "GET", "/livez", { headers: { host: "ns1.k8s.example.test:9853" } });
    expect(named.status).toBe(200);
  });

  test("lets no other site in", async () => {
    const preflight = await askAt(server.http, "OPTIONS", targetRoute("cp1", "drain"), {
      headers: { origin: "https://evil.example", "access-control-request-method": "POST" },
    });
    expect(preflight.status).toBe(401);
    expect(Object.keys(preflight.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
  });

  test("never logs the token", async () => {
    await askAt(server.http, "POST", targetRoute("cp1", "undrain"), { headers: AUTHORITY });
    expect(server.livezone.stdout() + server.livezone.stderr()).not.toContain(TOKEN);
  });
});

describe("HTTP without a token file", () => {
  const cleanup = afterAllTests();
  let server: AdminServer;
  beforeAll(async () => {
    server = await startAdminServer({ cleanup, admin: "", main: "log: { level: debug }\n" });
  });

  test("is read-only, whatever token comes", async () => {
    const before = await stateOf(server);
    for (const path of CHANGES) {
      const reply = await askAt(server.http, "POST", path, { headers: AUTHORITY, body: bodyOf(path) });
      expect({ status: reply.status, code: codeOf(reply) }).toEqual({ status: 403, code: "HTTP_READ_ONLY" });
    }
    expect(await stateOf(server)).toEqual(before);
    const status = statusSchema.parse((await askAt(server.http, "GET", "/api/v1/status")).json);
    expect(status.writable).toBe(false);
  });

  test("logs every request at debug", async () => {
    await askAt(server.http, "GET", "/livez?a=b");
    const line = await server.livezone.waitForLog("admin request served", ({ path }) => path === "/livez?a=b");
    expect(line).toMatchObject({ level: "debug", entry: "http", method: "GET", status: 200, from: "127.0.0.1" });
  });
});

const canDropRoot = process.getuid?.() === 0 && findProgram("setpriv") !== undefined;
const skipped = canDropRoot ? "" : " (skipped: needs root and setpriv)";

describe.skipIf(!canDropRoot)(`the control socket and other users${skipped}`, () => {
  test("admits the owner's group and nobody else", async () => {
    const server = await startAdminServer();
    // Everybody may enter the folder: what is left is the socket's own mode.
    chmodSync(server.livezone.folder, 0o755);
    const connect = `const s = require("node:net").connect(${JSON.stringify(server.socket.socketPath)});
      s.on("error", ({ code }) => console.log(code));
      s.on("connect", () => { console.log("connected"); s.end(); });`;
    const asUser = (...groups: readonly string[]) =>
      spawnSync("setpriv", ["--reuid=65534", ...groups, process.execPath, "-e", connect], {
        cwd: "/",
        encoding: "utf8",
      }).stdout.trim();
    expect(asUser("--regid=65534", "--clear-groups")).toBe("EACCES");
    expect(asUser("--regid=65534", "--groups=0")).toBe("connected");
  });
});
