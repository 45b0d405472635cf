import { closeSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadBatch } from "../../src/transport/batch/load.js";
import { askAt, targetRoute } from "../admin/server.js";
import { afterThisTest } from "../support/cleanup.js";
import { askForAddresses } from "../support/dns-client.js";
import { LIVEZONE_MAIN, type RunningLivezone, startLivezone } from "../support/livezone.js";
import { loadServer } from "../support/load.js";
import { freePort } from "../support/ports.js";
import { startProcess } from "../support/processes.js";
import { temporaryFolder } from "../support/temp.js";
import { waitUntil } from "../support/wait.js";
import { startTargets } from "./targets.js";

const ENDPOINT = "api.k8s.example.test";
const { transport: native } = loadBatch();

function filesFor(port: number, admin = "", workers = 1): Record<string, string> {
  return {
    "livezone.yaml": `listen: ["127.0.0.1:${port}"]\nworkers: ${workers}\n${admin}zones: [zones/*.yaml]\n`,
    "zones/k8s.yaml": `zone: k8s.example.test
nameservers: { ns1: 192.0.2.53 }
endpoints:
  api:
    targets: { cp1: 192.0.2.11, cp2: 192.0.2.12, cp3: 192.0.2.13 }
    probe: { type: none }
`,
  };
}

describe.skipIf(native === undefined)("serve --takeover", { concurrent: true }, () => {
  test("20,000 queries across two restarts are all answered", async () => {
    const port = await freePort();
    const admin = `admin: { socket: ${join(temporaryFolder(), "admin.sock")} }\n`;
    const total = 20_000;
    let running: RunningLivezone = await startLivezone({ files: filesFor(port, admin) });
    const load = loadServer(ENDPOINT, port, total);
    for (let restart = 0; restart < 2; restart += 1) {
      await waitUntil(() => load.sent() > (total / 3) * (restart + 1), { timeoutMs: 30_000, describe: "more load" });
      const successor = await startLivezone({ files: filesFor(port, admin, 1 + (restart % 2)), args: ["--takeover"] });
      expect(successor.logs("took the port over")).toHaveLength(1);
      expect(await running.ended).toMatchObject({ code: 0 });
      running = successor;
    }
    expect(await load.done).toEqual({ sent: total, lost: 0 });
    expect(await askForAddresses({ server: "127.0.0.1", port, name: ENDPOINT, transport: "tcp" })).toHaveLength(3);
  });

  test("starts as usual where nobody runs", async () => {
    const port = await freePort();
    const admin = `admin: { socket: ${join(temporaryFolder(), "admin.sock")} }\n`;
    const livezone = await startLivezone({ files: filesFor(port, admin), args: ["--takeover"] });
    expect(livezone.logs("nobody to take over from")).toHaveLength(1);
    expect(await askForAddresses({ server: "127.0.0.1", port, name: ENDPOINT })).toHaveLength(3);
  });

  test("goes on answering when its admin listener cannot be opened, and opens it once it can be", async () => {
    const port = await freePort();
    const socket = join(temporaryFolder(), "admin.sock");
    const httpPort = await freePort();
    const first = await startLivezone({ files: filesFor(port, `admin: { socket: ${socket} }\n`) });
    const inTheWay = createServer().listen(httpPort, "127.0.0.1");
    afterThisTest(() => void inTheWay.close());
    const admin = `admin: { socket: ${socket}, http: "127.0.0.1:${httpPort}" }\n`;
    const successor = await startLivezone({ files: filesFor(port, admin), args: ["--takeover"] });
    expect(await first.ended).toMatchObject({ code: 0 });
    await successor.waitForLog("admin listener not open, trying again");
    const at = { server: "127.0.0.1", port, name: ENDPOINT } as const;
    expect(await askForAddresses(at)).toHaveLength(3);
    expect(await askForAddresses({ ...at, transport: "tcp" })).toHaveLength(3);
    inTheWay.close();
    await waitUntil(async () => (await fetch(`http://127.0.0.1:${httpPort}/livez`)).ok, {
      timeoutMs: 15_000,
      describe: "HTTP",
    });
  });

  test("keeps an override that was set while the successor was starting", async () => {
    const port = await freePort();
    const probed = await startTargets(["ready", "ready", "hold"]);
    const folder = temporaryFolder();
    const socket = join(folder, "admin.sock");
    const files = (count: number) => ({
      "livezone.yaml": `listen: ["127.0.0.1:${port}"]\nadmin: { socket: ${socket} }\nstateDir: ${join(folder, "state")}\nzones: [zone.yaml]\n`,
      "zone.yaml": `zone: k8s.example.test
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
endpoints:
  api:
    port: ${probed.port}
    targets: { ${probed.targets
      .slice(0, count)
      .map(({ id, address }) => `${id}: ${address}`)
      .join(", ")} }
    probe: { type: http, interval: 20s, timeout: 20s, tripwire: false }
`,
    });
    const first = await startLivezone({ files: files(2) });
    // The third target has no result yet, so the successor waits for it.
    const successor = await startLivezone({ files: files(3), args: ["--takeover"], awaitReady: false });
    const { listen } = await successor.waitForLog("server started");
    expect(listen).toEqual([`127.0.0.1:${port}`]);
    const body = { author: "eve" };
    const drained = await askAt({ socketPath: socket }, "POST", targetRoute("cp1", "drain"), { body });
    expect(drained.status).toBe(200);
    expect(await first.ended).toMatchObject({ code: 0 });
    await successor.waitForLog("took the port over");
    await successor.waitForLog("override set", ({ target, author }) => target === "cp1" && author === "eve");
    const [, cp2] = probed.targets;
    expect(await askForAddresses({ server: "127.0.0.1", port, name: ENDPOINT })).toEqual([cp2?.address]);
  });
});

describe.skipIf(native === undefined)("sockets of systemd's socket activation", () => {
  test("are served, and outlive a restart: what is asked in between is answered afterwards", async () => {
    const port = await freePort();
    const fds = (["udp", "tcp"] as const).map((kind) => native?.bind({ address: "127.0.0.1", port, kind }).fd ?? -1);
    afterThisTest(() => fds.forEach((fd) => void closeSync(fd)));
    const folder = (await startLivezone({ files: filesFor(await freePort()) })).folder;
    const files = filesFor(port);
    writeFileSync(join(folder, "livezone.yaml"), files["livezone.yaml"] ?? "");
    const activate = () =>
      startProcess(
        "/bin/sh",
        ["-c", `LISTEN_PID=$$ exec "${process.execPath}" "${LIVEZONE_MAIN}" serve --config livezone.yaml`],
        {
          cwd: folder,
          env: { LISTEN_FDS: "2" },
          inherit: fds,
          readyWhen: /"msg":"ready"/,
        },
      );

    const first = await activate();
    const at = { server: "127.0.0.1", port, name: ENDPOINT } as const;
    expect(await askForAddresses(at)).toHaveLength(3);
    expect(await askForAddresses({ ...at, transport: "tcp" })).toHaveLength(3);
    // An address that goes and comes back is served by the same sockets again.
    const elsewhere = await freePort();
    for (const [at2, text] of [
      [elsewhere, files["livezone.yaml"]?.replace(String(port), String(elsewhere))],
      [port, files["livezone.yaml"]],
    ] as const) {
      writeFileSync(join(folder, "livezone.yaml"), text ?? "");
      first.signal("SIGHUP");
      await waitUntil(async () => (await askForAddresses({ ...at, port: at2, timeoutMs: 300 })).length === 3, {
        describe: `answers on ${at2}`,
      });
      expect(await askForAddresses({ ...at, port: at2, transport: "tcp" })).toHaveLength(3);
    }
    await first.stop();
    const waiting = askForAddresses({ ...at, timeoutMs: 10_000 });
    await activate();
    expect(await waiting).toHaveLength(3);
  });
});
