#!/usr/bin/env node
/**
 * Takes the pictures in docs/images/ of the demo's status page: `node scripts/screenshots.mjs`, with Chromium and a build.
 *
 * One apiserver is killed shortly before, so that there is something to see. Uses the demo's ports, 5300 and 9853.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const images = join(root, "docs/images");
const PAGE = "http://127.0.0.1:9853/";
/** Long enough for some probes of each apiserver to be drawn, milliseconds. */
const RUN_FOR_MS = 60_000;

function take(name, width, height) {
  const { status, stderr } = spawnSync(
    "chromium",
    [
      ...["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--timeout=4000"],
      ...[`--window-size=${width},${height}`, `--screenshot=${join(images, name)}`, PAGE],
    ],
    { encoding: "utf8" },
  );
  if (status !== 0) throw new Error(`chromium: ${stderr}`);
}

const demo = spawn(process.execPath, [join(root, "dist/main.js"), "demo"], { stdio: "ignore" });
try {
  await pause(RUN_FOR_MS);
  // The stand-ins are the demo's children, one for each target.
  const children = readFileSync(`/proc/${demo.pid}/task/${demo.pid}/children`, "utf8").trim().split(" ");
  process.kill(Number(children[1]), "SIGKILL");
  await pause(3_000);
  mkdirSync(images, { recursive: true });
  take("status-page.png", 1180, 900);
  take("status-page-narrow.png", 500, 1000);
} finally {
  demo.kill();
}
