import { once } from "node:events";
import { createServer } from "node:https";
import { describe, expect, test } from "vitest";
import { type Authority, createAuthority } from "../../src/demo/certificates.js";
import { kubeconfigFor, nodeObject, startApiServer } from "../discovery/api-server.js";
import { afterThisTest } from "../support/cleanup.js";
import { askForAddresses } from "../support/dns-client.js";
import { startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { waitUntil } from "../support/wait.js";

const ENDPOINT = "api.k8s.example.test";

/** An apiserver that is ready, with a certificate of this authority. */
async function startReady(address: string, port: number, authority: Authority) {
  const { certPem, keyPem } = await authority.issue({ names: [ENDPOINT] });
  const server = createServer({ cert: certPem, key: keyPem }, (_, response) => response.end("ok"));
  server.on("tlsClientError", () => {});
  server.listen({ host: address, port, exclusive: true });
  await once(server, "listening");
  const stop = (): void => {
    server.closeAllConnections();
    server.close();
  };
  afterThisTest(stop);
  return { address, stop };
}

const zone = (port: number, lines: string): string => `zone: k8s.example.test
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
endpoints:
  api:
    port: ${port}
${lines}    discover: [{ type: kubernetes, kubeconfig: ../kubeconfig }]
    probe: { ca: ../ca.crt, interval: 500ms, timeout: 500ms, recheck: 100ms }
`;

describe("targets from a cluster's API", () => {
  test("an address whose certificate another authority signed is never answered, whatever else is down", async () => {
    const [dns, port] = [await freePort(), await freePort("127.0.91.11", "127.0.91.12", "127.0.91.13")];
    const [ours, another] = await Promise.all([createAuthority(), createAuthority()]);
    const api = await startApiServer("127.0.91.1");
    const cp1 = await startReady("127.0.91.11", port, ours);
    const cp2 = await startReady("127.0.91.12", port, ours);
    const stranger = await startReady("127.0.91.13", port, another);
    for (const [name, { address }] of Object.entries({ cp1, cp2, stranger })) api.set(nodeObject(name, address));
    const livezone = await startLivezone({
      files: {
        "livezone.yaml": `listen: "127.0.0.1:${dns}"\nzones: [zones/*.yaml]\n`,
        "zones/k8s.yaml": zone(port, ""),
        kubeconfig: kubeconfigFor(api),
        "ca.crt": ours.caPem,
      },
    });
    const seen = new Set<string>();
    const ask = async (): Promise<string> => {
      const answers = await askForAddresses({ server: "127.0.0.1", port: dns, name: ENDPOINT });
      for (const address of answers) seen.add(address);
      return answers.sort().join(" ");
    };
    await waitUntil(async () => (await ask()) === `${cp1.address} ${cp2.address}`);
    await livezone.waitForLog("target discovered", ({ target }) => target === "stranger");
    cp1.stop();
    await waitUntil(async () => (await ask()) === cp2.address);
    cp2.stop();
    await livezone.waitForLog("endpoint failed open");
    await waitUntil(async () => (await ask()) === `${cp1.address} ${cp2.address}`);
    expect(seen).not.toContain(stranger.address);
    await livezone.stop();
  });

  test("what a file lists serves while the API takes connections and never answers", async () => {
    const [dns, port] = [await freePort(), await freePort("127.0.91.31")];
    const ours = await createAuthority();
    const api = await startApiServer("127.0.91.2");
    api.isBlackHole = true;
    const cp1 = await startReady("127.0.91.31", port, ours);
    const livezone = await startLivezone({
      files: {
        "livezone.yaml": `listen: "127.0.0.1:${dns}"\nzones: [zones/*.yaml]\n`,
        "zones/k8s.yaml": zone(port, "").replace("discover: [", "discover: [{ type: file, path: ../targets.json }, "),
        "targets.json": JSON.stringify({ cp1: cp1.address }),
        kubeconfig: kubeconfigFor(api),
        "ca.crt": ours.caPem,
      },
    });
    expect(await askForAddresses({ server: "127.0.0.1", port: dns, name: ENDPOINT })).toEqual([cp1.address]);
    expect(livezone.logs("ready")[0]).toMatchObject({ isComplete: true });
    await livezone.stop();
  });

  test("what is written serves while the API cannot be reached", async () => {
    const [dns, port] = [await freePort(), await freePort("127.0.91.21")];
    const ours = await createAuthority();
    const api = await startApiServer("127.0.91.1");
    await api.close();
    const cp1 = await startReady("127.0.91.21", port, ours);
    const livezone = await startLivezone({
      files: {
        "livezone.yaml": `listen: "127.0.0.1:${dns}"\nzones: [zones/*.yaml]\n`,
        "zones/k8s.yaml": zone(port, `    targets: { cp1: ${cp1.address} }\n`),
        kubeconfig: kubeconfigFor(api),
        "ca.crt": ours.caPem,
      },
    });
    expect(await askForAddresses({ server: "127.0.0.1", port: dns, name: ENDPOINT })).toEqual([cp1.address]);
    await livezone.waitForLog("discovery source failed, what it said before holds");
    expect(livezone.logs("ready")[0]).toMatchObject({ isComplete: true });
    await livezone.stop();
  });
});
