import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { temporaryFolder } from "../support/temp.js";
import { runIn } from "./in-process.js";
import { configurationFiles } from "./run.js";

const zone = (endpoints: string) => `zone: k8s.example.com\nnameservers: { ns1: 192.0.2.53 }\nendpoints:\n${endpoints}`;
const API = "  api: { targets: { cp1: 192.0.2.11, cp2: 192.0.2.12 } }\n";

function folderWith(endpoints: string): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "zones"));
  writeFileSync(join(folder, "livezone.yaml"), configurationFiles("127.0.0.1:5300")["livezone.yaml"] ?? "");
  writeFileSync(join(folder, "zones", "k8s.yaml"), zone(endpoints));
  return folder;
}

/** As in k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm/v1beta4: arguments are a list of names and values. */
const clusterConfiguration = z.strictObject({
  apiVersion: z.literal("kubeadm.k8s.io/v1beta4"),
  kind: z.literal("ClusterConfiguration"),
  controlPlaneEndpoint: z.string(),
  apiServer: z.strictObject({
    certSANs: z.array(z.string()),
    extraArgs: z.array(z.strictObject({ name: z.string(), value: z.string() })),
  }),
});

describe("livezone kubeadm", () => {
  test("prints the part of ClusterConfiguration that belongs to the endpoint", async () => {
    const { code, stdout, stderr } = await runIn(["kubeadm"], { cwd: folderWith(API) });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(clusterConfiguration.parse(parse(stdout))).toEqual({
      apiVersion: "kubeadm.k8s.io/v1beta4",
      kind: "ClusterConfiguration",
      controlPlaneEndpoint: "api.k8s.example.com:6443",
      apiServer: {
        certSANs: ["api.k8s.example.com", "cp1.api.k8s.example.com", "cp2.api.k8s.example.com"],
        extraArgs: [
          { name: "shutdown-delay-duration", value: "20s" },
          { name: "shutdown-send-retry-after", value: "true" },
          { name: "goaway-chance", value: "0.001" },
        ],
      },
    });
    expect(stdout).not.toContain("terminationGracePeriodSeconds");
  });

  test("--api-version v1beta3 writes arguments as kubeadm up to 1.30 reads them: a map", async () => {
    const folder = folderWith(API);
    const { code, stdout } = await runIn(["kubeadm", "--api-version", "v1beta3"], { cwd: folder });
    expect(code).toBe(0);
    expect(parse(stdout)).toMatchObject({
      apiVersion: "kubeadm.k8s.io/v1beta3",
      kind: "ClusterConfiguration",
      apiServer: {
        extraArgs: { "shutdown-delay-duration": "20s", "shutdown-send-retry-after": "true", "goaway-chance": "0.001" },
      },
    });
    const refused = await runIn(["kubeadm", "--api-version", "v1beta2"], { cwd: folder });
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("v1beta4, v1beta3") });
  });

  test("lets a slow endpoint's apiservers serve for longer, and says what the kubelet must know", async () => {
    const slow = "  api: { ttl: 30, port: 443, probe: { interval: 10s }, targets: { cp1: 192.0.2.11 } }\n";
    const { stdout } = await runIn(["kubeadm"], { cwd: folderWith(slow) });
    const { controlPlaneEndpoint, apiServer } = clusterConfiguration.parse(parse(stdout));
    // 11 s until the next probe, 0.2 s until the second, 30 s of TTL.
    expect(apiServer.extraArgs).toContainEqual({ name: "shutdown-delay-duration", value: "42s" });
    expect(controlPlaneEndpoint).toBe("api.k8s.example.com:443");
    expect(stdout).toContain("terminationGracePeriodSeconds: 52");
  });

  test.each(["tcp", "none"])("says that a probe of type %s does not see an apiserver stop", async (type) => {
    const { stdout } = await runIn(["kubeadm"], {
      cwd: folderWith(API.replace("targets:", `port: 6443, probe: { type: ${type} }, targets:`)),
    });
    clusterConfiguration.parse(parse(stdout));
    expect(stdout).toContain(`A probe of type ${type} does not see that an apiserver is about to stop`);
    expect(stdout).not.toContain("forgotten by every cache");
  });

  test("--json tells the same to programs", async () => {
    const { stdout } = await runIn(["kubeadm", "API.k8s.example.com.", "--json"], { cwd: folderWith(API) });
    const schema = z.strictObject({
      controlPlaneEndpoint: z.string(),
      certSANs: z.array(z.string()),
      shutdownDelaySeconds: z.int(),
      forgottenSeconds: z.int(),
    });
    expect(schema.parse(JSON.parse(stdout))).toMatchObject({ shutdownDelaySeconds: 20, forgottenSeconds: 8 });
  });

  test.each([
    {
      name: "several endpoints",
      endpoints: `${API}${API.replace("api", "b")}`,
      args: [],
      says: "name one of api.k8s.example.com",
    },
    { name: "an endpoint that there is not", endpoints: API, args: ["api"], says: "it has api.k8s.example.com" },
  ])("refuses $name", async ({ endpoints, args, says }) => {
    const outcome = await runIn(["kubeadm", ...args], { cwd: folderWith(endpoints) });
    expect(outcome).toMatchObject({ code: 1, stdout: "" });
    expect(outcome.stderr).toContain(says);
  });
});
