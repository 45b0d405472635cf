import { createServer, type RequestListener } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { afterThisTest } from "../support/cleanup.js";
import { askForAddresses } from "../support/dns-client.js";
import { startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { temporaryFolder } from "../support/temp.js";
import { waitUntil } from "../support/wait.js";
import { configurationFiles, GOOD_ZONE } from "./run.js";

const ENDPOINT = "api.k8s.example.test";

/** Files of a small server, with more lines in its main file. */
function filesFor(port: number, main = ""): Readonly<Record<string, string>> {
  const files = configurationFiles(`127.0.0.1:${port}`);
  return { ...files, "livezone.yaml": `${files["livezone.yaml"]}${main}` };
}

/** Runs a server that is not to start, and returns how it ended. */
async function ending(files: Readonly<Record<string, string>>, ...args: readonly string[]) {
  const livezone = await startLivezone({ files, args, awaitReady: false });
  const { code } = await livezone.ended;
  return { code, stderr: livezone.stderr(), livezone };
}

/** A control socket on which something else listens. */
async function stranger(listener: RequestListener): Promise<string> {
  const path = join(temporaryFolder(), "admin.sock");
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(path, resolve));
  afterThisTest(() => {
    server.closeAllConnections();
    server.close();
  });
  return path;
}

describe.concurrent("livezone serve", () => {
  test("answers until it is asked to stop, and says in the log by what", async () => {
    const port = await freePort();
    const livezone = await startLivezone({ files: filesFor(port) });
    const answers = await askForAddresses({ server: "127.0.0.1", port, name: ENDPOINT });
    expect(answers.sort()).toEqual(["127.0.0.11", "127.0.0.12"]);
    livezone.signal("SIGINT");
    expect(await livezone.ended).toEqual({ code: 0, signal: null });
    expect(livezone.logs("stopping")).toMatchObject([{ signal: "SIGINT" }]);
    expect(livezone.stderr()).toBe("");
  });

  test("logs from the level that the configuration names", async () => {
    const port = await freePort();
    const livezone = await startLivezone({ files: filesFor(port, "log: { level: error }\n"), awaitReady: false });
    // There is no line to wait for.
    await waitUntil(() => askForAddresses({ server: "127.0.0.1", port, name: ENDPOINT }).catch(() => undefined));
    livezone.signal("SIGTERM");
    expect(await livezone.ended).toEqual({ code: 0, signal: null });
    expect(livezone.logs()).toEqual([]);
  });

  test("prints what is wrong with its configuration, starts nothing, and ends with 1", async () => {
    const files = { ...filesFor(5300), "zones/k8s.yaml": GOOD_ZONE.replace("api:", "api:\n    ttl: 0") };
    const { code, stderr, livezone } = await ending(files);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^zones\/k8s\.yaml:6:10: .*\n.* \[CONFIG_TTL_ZERO\]\n$/);
    expect(livezone.logs()).toEqual([]);
  });
});

describe.concurrent("livezone serve --takeover", () => {
  test("needs a control socket", async () => {
    const { code, stderr } = await ending(filesFor(await freePort()), "--takeover");
    expect(code).toBe(1);
    expect(stderr).toBe(
      "livezone: --takeover needs admin.socket in the configuration: that is how the other server is asked to leave [TAKEOVER_NO_SOCKET]\n",
    );
  });

  test("-if-any needs none, and looks for nobody then", async () => {
    const livezone = await startLivezone({ files: filesFor(await freePort()), args: ["--takeover-if-any"] });
    expect(livezone.logs("nobody to take over from")).toEqual([]);
  });

  test("-if-any with a control socket looks there", async () => {
    const socket = join(temporaryFolder(), "admin.sock");
    const livezone = await startLivezone({
      files: filesFor(await freePort(), `admin: { socket: ${socket} }\n`),
      args: ["--takeover-if-any"],
    });
    expect(livezone.logs("nobody to take over from")).toMatchObject([{ socket }]);
  });

  test("ends when what is on the control socket is no livezone server", async () => {
    const socket = await stranger((_request, response) => response.end("hello"));
    const { code, stderr } = await ending(filesFor(await freePort(), `admin: { socket: ${socket} }\n`), "--takeover");
    expect(code).toBe(1);
    expect(stderr).toMatch(/^livezone: what answers there is no livezone server: .*\[ADMIN_NOT_LIVEZONE\]\n$/);
  });

  test("ends at once when it is asked to stop while the other server keeps it waiting", async () => {
    let isAsked = false;
    const socket = await stranger(() => {
      isAsked = true;
    });
    const livezone = await startLivezone({
      files: filesFor(await freePort(), `admin: { socket: ${socket} }\n`),
      args: ["--takeover"],
      awaitReady: false,
    });
    await waitUntil(() => isAsked);
    livezone.signal("SIGTERM");
    // Below the 30 s that the question may take.
    const ended = await waitUntil(() => Promise.race([livezone.ended, undefined]), { timeoutMs: 15_000 });
    expect(ended).toEqual({ code: 0, signal: null });
    expect(livezone.logs("server started")).toEqual([]);
  });
});
