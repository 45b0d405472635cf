import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { askAt, startAdminServer } from "../admin/server.js";
import { startTargets } from "../app/targets.js";
import { textOf } from "../house-rules/source.js";
import { freePort } from "../support/ports.js";
import { startProcess } from "../support/processes.js";
import { describeWith, requireProgram } from "../support/programs.js";
import { temporaryFolder } from "../support/temp.js";
import { waitUntil } from "../support/wait.js";

interface Alert {
  readonly state: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

describeWith(["prometheus"], "Prometheus", () => {
  test("scrapes livezone, and an alert fires when a target dies", { timeout: 90_000 }, async () => {
    const all = await startTargets(["ready", "ready", "ready"]);
    const named = all.targets.map(({ id, address }) => `${id}: ${address}`).join(", ");
    const server = await startAdminServer({
      zone: `zone: k8s.example.test
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
endpoints:
  api:
    port: ${all.port}
    targets: { ${named} }
    probe: { type: http, interval: 200ms, timeout: 200ms, recheck: 50ms }
`,
    });

    const folder = temporaryFolder();
    // The rules as they are shipped, but for the time they wait.
    writeFileSync(join(folder, "alerts.yaml"), textOf("deploy/alerts.yaml").replaceAll(/for: \d+[ms]$/gm, "for: 1s"));
    writeFileSync(
      join(folder, "prometheus.yaml"),
      `global: { scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms }
rule_files: [alerts.yaml]
scrape_configs:
  - job_name: livezone
    static_configs: [{ targets: ["127.0.0.1:${server.http.port}"] }]
`,
    );
    const port = await freePort();
    await startProcess(
      requireProgram("prometheus"),
      [
        `--config.file=${join(folder, "prometheus.yaml")}`,
        `--storage.tsdb.path=${join(folder, "data")}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { cwd: folder, readyWhen: /ready to receive web requests/ },
    );
    const query = async (expression: string) => {
      const { json } = await askAt({ port }, "GET", `/api/v1/query?query=${encodeURIComponent(expression)}`);
      const { data } = json as { data: { result: { metric: Record<string, string>; value: [number, string] }[] } };
      return data.result;
    };
    const firing = async () => {
      const { json } = await askAt({ port }, "GET", "/api/v1/alerts");
      return (json as { data: { alerts: Alert[] } }).data.alerts.filter(({ state }) => state === "firing");
    };

    await waitUntil(async () => (await query("sum(livezone_target_up) == 3")).length === 1, { timeoutMs: 20_000 });
    expect((await query("up")).map(({ value }) => value[1])).toEqual(["1"]);
    expect((await firing()).map(({ labels }) => labels.alertname)).toEqual([]);

    const [, victim] = all.targets;
    if (victim === undefined) throw new Error("there are three");
    victim.behaviour = "unready";
    await waitUntil(async () => (await firing()).length > 0, { timeoutMs: 20_000 });
    const alerts = await firing();
    expect(alerts.map(({ labels }) => labels.alertname)).toEqual(["LivezoneTargetDown"]);
    expect(alerts[0]?.labels).toMatchObject({ endpoint: "api", target: "cp2", address: victim.address });
    expect(alerts[0]?.annotations.summary).toBe(`cp2 (${victim.address}) of api.k8s.example.test is down`);

    victim.behaviour = "ready";
    await waitUntil(async () => (await firing()).length === 0, { timeoutMs: 20_000 });
  });
});
