import { createServer } from "node:net";
import { join } from "node:path";
import { pino } from "pino";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { createEventLog } from "../../src/admin/event-ring.js";
import { createEventStreams } from "../../src/admin/event-stream.js";
import type { AdminService } from "../../src/admin/service.js";
import { systemClock } from "../../src/lib/clock.js";
import { AdminListeners } from "../../src/server/admin-listeners.js";
import { afterThisTest } from "../support/cleanup.js";
import { temporaryFolder } from "../support/temp.js";
import { waitUntil } from "../support/wait.js";

test("events reach readers also when the first tries to open the listeners failed", async () => {
  const lines: { msg: string }[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const events = createEventLog(systemClock, 1);
  const streams = createEventStreams(events, systemClock);
  const service = { version: "0", isReady: () => true } as AdminService;
  const source = { service, registry: new Registry(), events, streams, log, requestServed: () => {} };
  const listeners = new AdminListeners(source, systemClock);
  afterThisTest(() => listeners.stop(0));

  const inTheWay = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => inTheWay.once("listening", resolve));
  const { port } = inTheWay.address() as { port: number };
  const http = { address: "127.0.0.1", port };
  const opening = listeners.openPatiently({ socket: join(temporaryFolder(), "a.sock"), http, hostNames: [] }, 60_000);
  await expect(listeners.open({ http, hostNames: [] })).rejects.toMatchObject({ code: "LISTEN_ADDRESS_IN_USE" });
  inTheWay.close();
  await opening;
  expect(lines).toEqual([]);

  const { body } = await fetch(`http://127.0.0.1:${port}/api/v1/events`);
  let text = "";
  void (async () => {
    for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) text += chunk;
  })().catch(() => {});
  await waitUntil(() => streams.subscribers === 1);
  events.publish({ type: "ready" });
  await waitUntil(() => text.includes("event: ready"));
});
