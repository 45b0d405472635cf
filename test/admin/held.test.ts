import { expect, test } from "vitest";
import { changeSchema, statusSchema } from "../../src/admin/schemas.js";
import { startTargets } from "../app/targets.js";
import { waitUntil } from "../support/wait.js";
import { askAt, startAdminServer, targetRoute } from "./server.js";

test("a target that is suppressed for flapping is shown, undrain leaves it alone, and unsuppress ends it", async () => {
  const all = await startTargets(["ready", "ready"]);
  const named = all.targets.map(({ id, address }) => `${id}: ${address}`).join(", ");
  const { socket, livezone } = await startAdminServer({
    zone: `zone: k8s.example.test
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
endpoints:
  api:
    port: ${all.port}
    targets: { ${named} }
    probe: { type: http, interval: 100ms, timeout: 100ms, recheck: 50ms, flap: { limit: 1, window: 10m } }
`,
  });
  const cp1 = async () => {
    const status = statusSchema.parse((await askAt(socket, "GET", "/api/v1/status")).json);
    return status.zones[0]?.endpoints[0]?.targets[0]?.addresses[0];
  };
  const [target] = all.targets;
  if (target === undefined) throw new Error("there are two");
  for (let i = 0; i < 4 && (await cp1())?.held === undefined; i++) {
    target.behaviour = "unready";
    await waitUntil(async () => (await cp1())?.health === "down");
    target.behaviour = "ready";
    await waitUntil(async () => (await cp1())?.health === "up" || (await cp1())?.held !== undefined);
  }
  expect(await cp1()).toMatchObject({ health: "down", answered: false, last: { class: "ok" } });
  expect((await cp1())?.held?.changes).toBeGreaterThan(1);

  await livezone.waitForLog("target suppressed, it flaps", ({ target: id }) => id === "cp1");
  const undrained = changeSchema.parse((await askAt(socket, "POST", targetRoute("cp1", "undrain"))).json);
  expect(undrained.changed).toBe(false);
  expect((await cp1())?.held).toBeDefined();
  const forgiven = changeSchema.parse((await askAt(socket, "POST", targetRoute("cp1", "unsuppress"))).json);
  expect(forgiven.changed).toBe(true);
  await waitUntil(async () => (await cp1())?.answered === true);
  await livezone.waitForLog("flapping forgiven");
  await livezone.waitForLog("suppression ended", ({ target: id }) => id === "cp1");
});
