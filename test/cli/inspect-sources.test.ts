import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { inspectSources } from "../../src/cli/inspect-sources.js";
import { prepare } from "../../src/server/load-zones.js";
import { kubeconfigFor, nodeObject, startApiServer } from "../discovery/api-server.js";
import { temporaryFolder } from "../support/temp.js";

async function inspected(kubeconfig: (server: Awaited<ReturnType<typeof startApiServer>>) => string) {
  const server = await startApiServer("127.0.88.3");
  server.set(nodeObject("cp1", "192.0.2.1"));
  const folder = temporaryFolder();
  writeFileSync(join(folder, "kubeconfig"), kubeconfig(server));
  writeFileSync(join(folder, "livezone.yaml"), "zones: [zone.yaml]\n");
  writeFileSync(
    join(folder, "zone.yaml"),
    `zone: k8s.example.com
nameservers: { ns1: 192.0.2.53 }
endpoints: { api: { discover: [{ type: kubernetes, kubeconfig: kubeconfig }, { type: file, path: none.json }] } }
`,
  );
  return inspectSources(prepare(join(folder, "livezone.yaml")).config);
}

test("says what each source proposes, or why it cannot be read", async () => {
  const [kubernetes, file] = await inspected((server) => kubeconfigFor(server));
  expect(kubernetes?.inspected).toEqual({ source: "kubernetes:nodes", candidates: ["cp1 (192.0.2.1)"] });
  expect(file?.warning).toMatchObject({ code: "DISCOVER_SOURCE_UNREADABLE", severity: "warning" });
});

test("says that a credential is not accepted", async () => {
  const [kubernetes] = await inspected((server) => kubeconfigFor(server, "wrong"));
  expect(kubernetes?.warning?.message).toContain("401");
});
