import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { inspectSources, warnOfProposals } from "../../src/cli/inspect-sources.js";
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
  expect(file?.warnings).toMatchObject([{ code: "DISCOVER_SOURCE_UNREADABLE", severity: "warning" }]);
});

test("says what of the proposals cannot be used, and that a credential ends", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "livezone.yaml"), "zones: [zone.yaml]\n");
  writeFileSync(join(folder, "t.json"), '{"cp1": "192.0.2.11", "cp2": "127.0.0.1", "__proto__": "cp3"}');
  const server = await startApiServer("127.0.88.3");
  const token = `e30.${Buffer.from('{"iat":900000000,"exp":1000000000}').toString("base64url")}.x`;
  writeFileSync(join(folder, "kubeconfig"), kubeconfigFor(server, token));
  writeFileSync(
    join(folder, "zone.yaml"),
    `zone: k8s.example.com
nameservers: { ns1: 192.0.2.53 }
endpoints: { api: { discover: [{ type: file, path: t.json }, { type: kubernetes, kubeconfig: kubeconfig }] } }
`,
  );
  const { config } = prepare(join(folder, "livezone.yaml"));
  const sources = await inspectSources(config);
  expect(warnOfProposals(config, sources).map(({ message, code }) => `${code} ${message}`)).toEqual([
    expect.stringMatching(/^DISCOVER_PROPOSAL_UNUSABLE .*"cp2" has the address "127.0.0.1": that is a loopback/),
    expect.stringMatching(/^DISCOVER_PROPOSAL_UNUSABLE .*"__proto__" has the address "cp3"/),
  ]);
  expect(sources[1]?.warnings.map(({ code }) => code)).toEqual([
    "DISCOVER_SOURCE_UNREADABLE",
    "DISCOVER_CREDENTIAL_ENDS",
  ]);
});

test("says that a credential is not accepted", async () => {
  const [kubernetes] = await inspected((server) => kubeconfigFor(server, "wrong"));
  expect(kubernetes?.warnings[0]?.message).toContain("401");
});
