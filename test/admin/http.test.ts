import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { pino } from "pino";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { createEventLog } from "../../src/admin/event-ring.js";
import { createEventStreams } from "../../src/admin/event-stream.js";
import { type HttpRules, openAdminHttp } from "../../src/admin/http.js";
import type { AdminService } from "../../src/admin/service.js";
import { systemClock } from "../../src/lib/clock.js";
import { afterThisTest } from "../support/cleanup.js";
import { temporaryFolder } from "../support/temp.js";
import { askAt, codeOf, TOKEN } from "./server.js";

/** A listener whose service counts reloads. */
async function open(rules?: HttpRules, port = 0) {
  let reloads = 0;
  const service = {
    version: "0",
    isReady: () => true,
    reload: async () => {
      reloads += 1;
      return { zones: 1, endpoints: 1, needRestart: [] };
    },
  } as unknown as AdminService;
  const events = createEventLog(systemClock, 1);
  const streams = createEventStreams(events, systemClock);
  const log = pino({ level: "silent" });
  const source = { service, registry: new Registry(), events, streams, log, requestServed: () => {} };
  const listening = await openAdminHttp({ address: "127.0.0.1", port }, source, rules);
  afterThisTest(() => listening.stop(0));
  return { listening, way: { port: listening.address.port }, reloads: () => reloads };
}

test("it listens on the address given, on the port that the system chose, until it is stopped", async () => {
  const { listening, way } = await open();
  expect(listening.address).toEqual({ address: "127.0.0.1", port: expect.any(Number) });
  expect(way.port).toBeGreaterThan(0);
  expect((await askAt(way, "GET", "/livez")).status).toBe(200);
  await listening.stop(0);
  await expect(askAt(way, "GET", "/livez")).rejects.toMatchObject({ code: "ECONNREFUSED" });
});

test("without a token file nobody may change state; with one, whoever has the token", async () => {
  const tokenFile = join(temporaryFolder(), "token");
  writeFileSync(tokenFile, `${TOKEN}\n`, { mode: 0o600 });
  const headers = { authorization: `Bearer ${TOKEN}` };
  const closed = await open();
  const opened = await open({ tokenFile });
  expect((await askAt(closed.way, "POST", "/api/v1/reload", { headers })).status).toBe(403);
  expect((await askAt(opened.way, "POST", "/api/v1/reload")).status).toBe(401);
  expect((await askAt(opened.way, "POST", "/api/v1/reload", { headers })).status).toBe(200);
  expect([closed.reloads(), opened.reloads()]).toEqual([0, 1]);
});

test("a name in the Host header is right only if it was listed", async () => {
  const { way } = await open({ hostNames: ["admin.example.com"] });
  const status = async (host: string) => await askAt(way, "GET", "/livez", { headers: { host } });
  expect(codeOf(await status("evil.example.com"))).toBeDefined();
  expect(codeOf(await status("admin.example.com"))).toBeUndefined();
});

test("a port that is taken is an error that says so", async () => {
  const inTheWay = createServer().listen(0, "127.0.0.1");
  afterThisTest(() => void inTheWay.close());
  await once(inTheWay, "listening");
  const { port } = inTheWay.address() as { port: number };
  await expect(open({}, port)).rejects.toMatchObject({
    code: "LISTEN_ADDRESS_IN_USE",
    message: expect.stringContaining(`cannot listen on HTTP 127.0.0.1:${port}`),
  });
});
