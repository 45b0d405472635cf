import { expect, test } from "vitest";
import { ApiserverChild } from "../../src/demo/apiserver-child.js";
import { createAuthority } from "../../src/demo/certificates.js";
import { afterThisTest } from "../support/cleanup.js";

async function startChild(): Promise<{ readonly child: ApiserverChild; readonly start: () => Promise<number> }> {
  const certificate = await (await createAuthority()).issue({ names: ["api.example.test"] });
  const child = new ApiserverChild();
  afterThisTest(() => child.kill("SIGKILL"));
  const settings = { address: "127.0.0.1", port: 0, shutdownDelayMs: 0, failing: [], ...certificate };
  return { child, start: () => child.order({ kind: "start", settings }) };
}

test("carries out orders, each with its own report, until it is gone", async () => {
  const { child, start } = await startChild();
  const port = await start();
  expect(port).toBeGreaterThan(0);
  const orders = [child.order({ kind: "ready", failing: ["etcd"] }), child.order({ kind: "ready", failing: [] })];
  expect(await Promise.all(orders)).toEqual([port, port]);
  child.kill("SIGTERM");
  await child.ended;
});

test("orders that wait when the process is killed are rejected with its end", async () => {
  const { child, start } = await startChild();
  await start();
  child.kill("SIGSTOP");
  const order = child.order({ kind: "ready", failing: [] });
  child.kill("SIGKILL");
  await expect(order).rejects.toThrow("the apiserver ended (SIGKILL)");
  await child.ended;
});
