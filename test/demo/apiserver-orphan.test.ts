import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { createAuthority } from "../../src/demo/certificates.js";
import { startProcess } from "../support/processes.js";
import { temporaryFolder } from "../support/temp.js";
import { waitUntil } from "../support/wait.js";

const BUILT = pathToFileURL(join(import.meta.dirname, "../../dist/demo/apiserver-process.js")).href;

/** A process that has ended and waits for the system's first process to take note of it (`Z`) does not run. */
function isRunning(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

for (const { name, hang, end } of [
  { name: "is killed", hang: false, end: "SIGKILL" },
  { name: "exits", hang: false, end: "SIGUSR2" },
  { name: "exits while the apiserver hangs", hang: true, end: "SIGUSR2" },
] as const) {
  it(`leaves no apiserver behind when the parent ${name}`, async () => {
    const folder = temporaryFolder();
    const certificate = await (await createAuthority()).issue({ names: ["api.k8s.example.test"] });
    writeFileSync(join(folder, "certificate.json"), JSON.stringify(certificate));
    writeFileSync(
      join(folder, "parent.mjs"),
      `import { readFileSync } from "node:fs";
      import { startApiserver } from ${JSON.stringify(BUILT)};
      process.on("SIGUSR2", () => process.exit(0));
      const certificate = JSON.parse(readFileSync("certificate.json", "utf8"));
      const apiserver = await startApiserver({ address: "127.0.0.11", port: 0, ...certificate });
      if (${hang}) apiserver.hang();
      console.log("child", apiserver.pid);`,
    );
    const parent = await startProcess(process.execPath, ["parent.mjs"], { cwd: folder, readyWhen: /^child \d+$/ });
    const pid = Number(/child (\d+)/.exec(parent.stdout())?.[1]);
    expect(isRunning(pid)).toBe(true);
    parent.signal(end);
    await parent.ended;
    await waitUntil(() => !isRunning(pid), { describe: `process ${pid} to end` });
  });
}
