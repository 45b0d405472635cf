import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { systemClock } from "../../src/lib/clock.js";
import { preSharedKey } from "../../src/siblings/pre-shared-key.js";
import { Speaker } from "../../src/siblings/speaker.js";
import { afterThisTest } from "../support/cleanup.js";
import { freePort } from "../support/ports.js";
import { waitUntil } from "../support/wait.js";

async function speakTo(port: number) {
  const troubles: string[] = [];
  const speaker = new Speaker({
    clock: systemClock,
    random: () => 1,
    peer: { name: "ns2", address: "127.0.0.1", port },
    nextId: () => 1,
    keys: () => [preSharedKey(new Uint8Array(32))],
    hello: () => ({ t: "hello" }),
    onOpen: () => {},
    onWant: () => {},
    onClosed: (why) => troubles.push(why),
  });
  afterThisTest(() => speaker.stop());
  speaker.start();
  return { speaker, troubles };
}

test("tries again and again where nothing listens, and says why", async () => {
  const { speaker, troubles } = await speakTo(await freePort());
  await waitUntil(() => troubles.length >= 3);
  expect(new Set(troubles)).toEqual(new Set(["nothing listens there"]));
  expect(speaker.isOpen).toBe(false);
  expect(speaker.say({ t: "x" })).toBe(false);
  expect(await speaker.ask({ t: "x" }, 1_000)).toBeUndefined();
});

test("gives up on what accepts and says nothing", async () => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    sockets.push(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  afterThisTest(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  const { troubles } = await speakTo(typeof address === "object" && address !== null ? address.port : 0);
  await waitUntil(() => troubles.length > 0);
  expect(troubles[0]).toBe("no reply in time");
});
