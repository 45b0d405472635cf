import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startApiserver } from "../../src/demo/apiserver-process.js";
import { createAuthority } from "../../src/demo/certificates.js";
import { DEMO_ENDPOINT, DEMO_TARGETS, prepareDemo } from "../../src/demo/setup.js";
import { ask, askForAddresses } from "./dns-client.js";
import { startLivezone } from "./livezone.js";
import { freePort } from "./ports.js";
import { temporaryFolder } from "./temp.js";
import { waitUntil } from "./wait.js";

it("runs the demo's configuration: a crashed apiserver leaves the answer, a revived one comes back", async () => {
  const addresses = DEMO_TARGETS.map(({ address }) => address);
  const [port, adminPort, apiserverPort] = [
    await freePort("127.0.0.1"),
    await freePort("127.0.0.1"),
    await freePort(...addresses),
  ];
  const authority = await createAuthority();
  const certificate = await authority.issue({ names: [DEMO_ENDPOINT] });
  const folder = temporaryFolder();
  const listen = `127.0.0.1:${port}`;
  const adminHttp = `127.0.0.1:${adminPort}`;
  await prepareDemo({ folder, caPem: authority.caPem, listen, adminHttp, apiserverPort });
  const apiservers = await Promise.all(
    addresses.map((address) => startApiserver({ address, port: apiserverPort, ...certificate })),
  );
  onTestFinished(async () => {
    await Promise.all(apiservers.map((apiserver) => apiserver.crash()));
  });

  const files = ["livezone.yaml", "zones/k8s.example.test.yaml", "ca.crt"];
  const livezone = await startLivezone({
    files: Object.fromEntries(files.map((file) => [file, readFileSync(join(folder, file), "utf8")])),
  });
  const question = { server: "127.0.0.1", port, name: DEMO_ENDPOINT };
  expect(livezone.logs("ready")).toHaveLength(1);
  await waitUntil(async () => (await ask(question)).answers.length === 3);
  expect(await askForAddresses(question)).toEqual(addresses);

  const [first, ...others] = addresses;
  await apiservers[0]?.crash();
  await waitUntil(async () => (await askForAddresses(question)).join() === others.join());
  expect(await livezone.waitForLog("target withdrawn")).toMatchObject({ target: "cp1" });

  await apiservers[0]?.revive();
  await waitUntil(async () => (await askForAddresses(question)).includes(first ?? ""));

  expect(await livezone.stop()).toEqual({ code: 0, signal: null });
});
