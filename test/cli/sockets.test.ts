import { createSocket } from "node:dgram";
import { once } from "node:events";
import { chownSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { listenError } from "../../src/lib/listening.js";
import { loadBatch } from "../../src/transport/batch/load.js";
import { startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { findProgram } from "../support/programs.js";
import { temporaryFolder } from "../support/temp.js";
import { configurationFiles, type Outcome, runLivezone } from "./run.js";

function folderFor(listen: string, more = ""): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "zones"));
  for (const [path, text] of Object.entries(configurationFiles(listen))) writeFileSync(join(folder, path), text);
  writeFileSync(join(folder, "livezone.yaml"), `${configurationFiles(listen)["livezone.yaml"]}${more}`);
  return folder;
}

async function holdUdp(address: string, port: number): Promise<void> {
  const socket = createSocket("udp4");
  onTestFinished(() => void socket.close());
  socket.bind({ address, port, exclusive: true });
  await once(socket, "listening");
}

async function holdTcp(address: string, port: number): Promise<void> {
  const server = createServer();
  onTestFinished(() => void server.close());
  server.listen({ host: address, port, exclusive: true });
  await once(server, "listening");
}

/** One line on standard error, exit code 1. */
function expectOneLine({ code, stderr }: Outcome, pattern: RegExp): void {
  expect(code).toBe(1);
  expect(stderr).toMatch(pattern);
  expect(stderr.split("\n")).toHaveLength(2);
}

describe("livezone serve, when a port is in use,", () => {
  test.each([
    { what: "UDP", hold: holdUdp },
    { what: "TCP", hold: holdTcp },
  ])("names the $what address, who has it and what to do", async ({ what, hold }) => {
    const port = await freePort();
    await hold("127.0.0.1", port);
    const outcome = await runLivezone(["serve"], { cwd: folderFor(`127.0.0.1:${port}`) });
    const where = `cannot listen on ${what} 127\\.0\\.0\\.1:${port}: the port is in use`;
    expectOneLine(
      outcome,
      new RegExp(`^livezone: ${where}; "ss -lnptu sport = :${port}" .*another port.*\\[LISTEN_ADDRESS_IN_USE\\]\\n$`),
    );
  });

  test("does so for the admin's HTTP", async () => {
    const [dns, http] = [await freePort(), await freePort()];
    await holdTcp("127.0.0.1", http);
    const folder = folderFor(`127.0.0.1:${dns}`, `admin: { http: "127.0.0.1:${http}" }\n`);
    const outcome = await runLivezone(["serve"], { cwd: folder });
    expectOneLine(outcome, new RegExp(`^livezone: cannot listen on HTTP 127\\.0\\.0\\.1:${http}: the port is in use`));
  });

  test("names an address that no interface has", async () => {
    const outcome = await runLivezone(["serve"], { cwd: folderFor("192.0.2.1:5300") });
    expectOneLine(outcome, /192\.0\.2\.1:5300: no interface .*\[LISTEN_ADDRESS_UNAVAILABLE\]\n$/);
  });
});

describe("the likely owner of a port", () => {
  const inUse = Object.assign(new Error("bind EADDRINUSE"), { code: "EADDRINUSE" });

  test.each([
    { address: "127.0.0.53", port: 53, owner: "likely by systemd-resolved on 127.0.0.53" },
    { address: "0.0.0.0", port: 53, owner: "likely by systemd-resolved on 127.0.0.53" },
    { address: "::", port: 53, owner: "likely by systemd-resolved on 127.0.0.53" },
    { address: "192.0.2.1", port: 53, owner: "likely by another DNS server" },
    { address: "192.0.2.1", port: 5300, owner: '"ss -lnptu sport = :5300" shows by whom' },
  ])("of $address:$port is named: $owner", ({ owner, ...at }) => {
    expect(listenError("UDP", at, inUse).message).toContain(owner);
  });
});

const NOBODY = 65_534;

/**
 * Words that run a command as somebody who may not open port 53, or why there is no such way here.
 * Linux's `ip_unprivileged_port_start` may let anybody open it.
 */
function unprivileged(): readonly string[] | string {
  const first = Number(readFileSync("/proc/sys/net/ipv4/ip_unprivileged_port_start", "utf8"));
  if (first <= 53) return `anybody may open ports from ${first}`;
  const capabilities = ["--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all", "--no-new-privs"];
  if (process.getuid?.() !== 0) return [];
  const setpriv = findProgram("setpriv");
  if (setpriv === undefined) return "setpriv is not installed";
  return [setpriv, `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", ...capabilities];
}

describe("livezone serve without the permission for port 53", () => {
  const through = process.platform === "linux" ? unprivileged() : "only on Linux";
  const title = "names the address, the permission and the remedy";
  if (typeof through === "string") {
    test.skip(`${title} (skipped: ${through})`, () => {});
    return;
  }

  test(title, async ({ skip }) => {
    const folder = folderFor("127.53.53.53:53");
    if (through.length > 0) {
      for (const path of ["", "zones", "zones/k8s.yaml", "livezone.yaml"])
        chownSync(join(folder, path), NOBODY, NOBODY);
      const { code } = await runLivezone(["--version"], { cwd: folder, through });
      skip(code !== 0, "nobody may not read this checkout");
    }
    const outcome = await runLivezone(["serve"], { cwd: folder, through });
    expectOneLine(
      outcome,
      /^livezone: cannot listen on UDP 127\.53\.53\.53:53: no permission; .*CAP_NET_BIND_SERVICE.* \[LISTEN_NO_PERMISSION\]\n$/,
    );
  });
});

describe.skipIf(loadBatch().transport === undefined)("freebind", () => {
  test("serves beside an address that this machine does not have", async () => {
    const port = await freePort();
    const livezone = await startLivezone({
      files: {
        ...configurationFiles(`127.0.0.1:${port}`),
        "livezone.yaml": `listen: ["127.0.0.1:${port}", "192.0.2.200:${port}", "[2001:db8::200]:${port}"]\nfreebind: true\nzones: [zones/*.yaml]\n`,
      },
    });
    expect(livezone.logs("server started")[0]).toMatchObject({
      listen: [`127.0.0.1:${port}`, `192.0.2.200:${port}`, `[2001:db8::200]:${port}`],
    });
  });
});
