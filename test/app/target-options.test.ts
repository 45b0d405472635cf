import { expect, test } from "vitest";
import { statusSchema } from "../../src/admin/schemas.js";
import { askAt } from "../admin/server.js";
import { askForAddresses } from "../support/dns-client.js";
import { startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { waitUntil } from "../support/wait.js";
import { startTargets } from "./targets.js";

/** A server with one endpoint, and its targets: each is told of where it is probed. */
async function start(endpoint: (addresses: readonly string[], port: number) => string) {
  const [dns, http] = [await freePort(), await freePort()];
  const { port, targets } = await startTargets(["ready", "ready", "ready"]);
  const zone = (lines: string) => `zone: k8s.example.test
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
endpoints:
  api:
    port: ${port}
    whenAllDown: none
${lines}`;
  const addresses = targets.map(({ address }) => address);
  const livezone = await startLivezone({
    files: {
      "livezone.yaml": `listen: ["127.0.0.1:${dns}"]\nadmin: { http: "127.0.0.1:${http}" }\nzones: [zone.yaml]\n`,
      "zone.yaml": zone(endpoint(addresses, port)),
    },
  });
  return {
    targets,
    async reload(lines: string) {
      livezone.write("zone.yaml", zone(lines));
      const before = livezone.logs("configuration reloaded").length;
      livezone.signal("SIGHUP");
      await waitUntil(() => livezone.logs("configuration reloaded").length > before);
    },
    answers: async () =>
      (await askForAddresses({ server: "127.0.0.1", port: dns, name: "api.k8s.example.test" })).sort(),
    async shown() {
      const { json } = await askAt({ port: http }, "GET", "/api/v1/status");
      return statusSchema.parse(json).zones[0]?.endpoints[0]?.targets ?? [];
    },
  };
}

const FAST = "probe: { type: http, interval: 500ms, timeout: 400ms, recheck: 100ms, tripwire: false }";

test.concurrent("a target is probed at another address than the one that is answered", async () => {
  const server = await start(
    ([one, two], port) =>
      `    targets: { cp1: ${one}, cp2: { addresses: 192.0.2.12, probe: { address: ${two}, port: ${port} } } }\n    ${FAST}\n`,
  );
  const [first, second] = server.targets;
  expect(await server.answers()).toEqual([first?.address, "192.0.2.12"].sort());
  if (second !== undefined) second.behaviour = "unready";
  await waitUntil(async () => (await server.answers()).length === 1, { describe: "a withdrawal" });
  expect(await server.answers()).toEqual([first?.address]);
});

test.concurrent("a target that the file disables is shown as such, and neither probed nor answered, until it is enabled", async () => {
  const targets = (addresses: readonly string[], more: string) =>
    `    targets: { cp1: ${addresses[0]}, cp2: { addresses: ${addresses[1]}${more} } }\n    ${FAST}\n`;
  const server = await start((addresses) => targets(addresses, ", disabled: true"));
  const addresses = server.targets.map(({ address }) => address);
  expect(await server.answers()).toEqual([addresses[0]]);
  await waitUntil(() => (server.targets[0]?.probes ?? 0) > 3);
  expect(server.targets[1]?.probes).toBe(0);
  expect((await server.shown()).map(({ id, disabled }) => [id, disabled])).toEqual([
    ["cp1", undefined],
    ["cp2", true],
  ]);
  // Not even when nothing else is left.
  if (server.targets[0] !== undefined) server.targets[0].behaviour = "unready";
  await waitUntil(async () => (await server.answers()).length === 0);
  await server.reload(targets(addresses, ""));
  await waitUntil(async () => (await server.answers()).includes(addresses[1] ?? ""), { describe: "the target" });
  await server.reload(targets(addresses, ", disabled: true"));
  // The message to the thread and a query race.
  await waitUntil(async () => (await server.answers()).length === 0, { describe: "no answer" });
});

test.concurrent("of several probes all must pass, and the reason names the one that did not", async () => {
  const closed = await freePort("127.0.0.1");
  const server = await start(
    ([one], port) => `    targets: { cp1: ${one} }
    probe: [{ type: http, interval: 500ms, timeout: 400ms, recheck: 100ms }, { type: tcp, port: ${port} }]
`,
  );
  const [target] = server.targets;
  expect(await server.answers()).toEqual([target?.address]);
  await server.reload(`    targets: { cp1: ${target?.address} }
    probe: [{ type: http, interval: 500ms, timeout: 400ms, recheck: 100ms }, { type: tcp, port: ${closed} }]
`);
  await waitUntil(async () => (await server.answers()).length === 0, { describe: "a withdrawal" });
  const reason = (await server.shown())[0]?.addresses[0]?.last?.reason;
  expect(reason).toContain(String(closed));
});
