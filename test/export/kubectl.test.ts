import { execFile, spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createAuthority } from "../../src/demo/certificates.js";
import { afterThisTest } from "../support/cleanup.js";
import { startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { describeWith } from "../support/programs.js";
import { waitUntil } from "../support/wait.js";
import { ADDRESSES, ENDPOINT } from "./apiservers.js";

const run = promisify(execFile);

/** Whether a mount namespace can be made, in which /etc/resolv.conf is another. */
const hasMounts = spawnSync("unshare", ["--mount", "true"]).status === 0;
const why = hasMounts ? "" : " (skipped: no mount namespace can be made here)";

/** Answers as an apiserver does what kubectl and the probe ask; its version says which one it is. */
function answer(address: string, { url }: IncomingMessage, response: ServerResponse): void {
  response.setHeader("content-type", "application/json");
  if (url === "/readyz") response.end("ok");
  else response.end(JSON.stringify({ major: "1", minor: "34", gitVersion: address }));
}

async function startApiservers(port: number, credential: { cert: string; key: string }): Promise<Map<string, Server>> {
  const servers = new Map<string, Server>();
  for (const address of ADDRESSES) {
    const server = createServer(credential, (request, response) => answer(address, request, response));
    server.listen(port, address);
    await once(server, "listening");
    servers.set(address, server);
    afterThisTest(() => {
      server.close();
      server.closeAllConnections();
    });
  }
  return servers;
}

const kubeconfigText = (port: number, caPem: string) => `apiVersion: v1
kind: Config
clusters:
  - name: k8s
    cluster: { server: "https://${ENDPOINT}:${port}", certificate-authority-data: ${Buffer.from(caPem).toString("base64")} }
users: [{ name: admin, user: { token: none } }]
contexts: [{ name: admin, context: { cluster: k8s, user: admin } }]
current-context: admin
`;

/** Three apiservers, livezone on port 53 of a loopback address, and a kubectl that has it in its resolv.conf. */
async function startCluster() {
  const dns = `127.${randomInt(128, 250)}.${randomInt(0, 256)}.53`;
  const port = await freePort(...ADDRESSES);
  const { caPem, issue } = await createAuthority();
  const { certPem, keyPem } = await issue({ names: [ENDPOINT] });
  const servers = await startApiservers(port, { cert: certPem, key: keyPem });
  const targets = ADDRESSES.map((address, index) => `cp${index + 1}: ${address}`).join(", ");
  const livezone = await startLivezone({
    files: {
      "ca.crt": caPem,
      "livezone.yaml": `listen: ["${dns}:53"]\nadmin: { socket: admin.sock }\nzones: [zone.yaml]\n`,
      "zone.yaml": `zone: k8s.example.test\nnameservers: { ns1: ${dns} }\nallowSpecialAddresses: true
endpoints:
  api: { port: ${port}, ttl: 1, targets: { ${targets} }, probe: { ca: ca.crt, interval: 500ms, timeout: 400ms, recheck: 200ms } }\n`,
    },
  });
  const at = (name: string) => join(livezone.folder, name);
  writeFileSync(at("resolv.conf"), `nameserver ${dns}\n`);
  writeFileSync(at("admin.conf"), kubeconfigText(port, caPem), { mode: 0o600 });
  const within = 'mount --bind "$0" /etc/resolv.conf && exec "$@"';
  const kubectl = ["kubectl", "--kubeconfig", at("admin.conf"), "--request-timeout=5s", "get", "--raw", "/version"];
  /** The apiserver that one call of kubectl reached. @throws if the call failed */
  const reached = async () => {
    const { stdout } = await run("unshare", ["--mount", "sh", "-c", within, at("resolv.conf"), ...kubectl]);
    return (JSON.parse(stdout) as { gitVersion: string }).gitVersion;
  };
  return { livezone, servers, reached };
}

describeWith(["kubectl", "unshare"], "kubectl with the name in its kubeconfig", () => {
  test.skipIf(!hasMounts)(
    `reaches the apiservers that are ready, and no call fails once one is withdrawn${why}`,
    { timeout: 60_000 },
    async () => {
      const { livezone, servers, reached } = await startCluster();
      await waitUntil(async () => (await reached()) === ADDRESSES[0], { describe: "kubectl to reach the first" });
      servers.get(ADDRESSES[0])?.close();
      servers.get(ADDRESSES[0])?.closeAllConnections();
      await livezone.waitForLog("target withdrawn");
      const calls = await Promise.all(Array.from({ length: 4 }, reached));
      expect(ADDRESSES.slice(1)).toEqual(expect.arrayContaining([...new Set(calls)]));
    },
  );
});
