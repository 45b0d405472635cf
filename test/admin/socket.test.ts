import { existsSync, lstatSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { startProcess } from "../support/processes.js";
import { temporaryFolder } from "../support/temp.js";
import { askAt, STEADY_ZONE } from "./server.js";

async function filesWith(socket: string): Promise<Readonly<Record<string, string>>> {
  return {
    "livezone.yaml": `listen: ["127.0.0.1:${await freePort()}"]\nadmin: { socket: "${socket}" }\nzones: [zones/*.yaml]\n`,
    "zones/k8s.yaml": STEADY_ZONE,
  };
}

/** Starts a server that is to end at once, and returns what it said. */
async function refusal(socket: string): Promise<string> {
  const livezone = await startLivezone({ files: await filesWith(socket), awaitReady: false });
  const { code } = await livezone.ended;
  expect(code).toBe(1);
  return livezone.stderr();
}

describe.concurrent("the control socket", () => {
  test("is for owner and group, and gone after the stop", async () => {
    const path = join(temporaryFolder(), "made/admin.sock");
    const livezone = await startLivezone({ files: await filesWith(path) });
    expect(statSync(path).isSocket()).toBe(true);
    expect((statSync(path).mode & 0o777).toString(8)).toBe("660");
    expect((await askAt({ socketPath: path }, "GET", "/livez")).text).toBe("ok\n");
    await livezone.stop();
    expect(existsSync(path)).toBe(false);
  });

  test("replaces what a killed server left", async () => {
    const path = join(temporaryFolder(), "admin.sock");
    const first = await startLivezone({ files: await filesWith(path) });
    first.signal("SIGKILL");
    await first.ended;
    expect(lstatSync(path).isSocket()).toBe(true);
    await startLivezone({ files: await filesWith(path) });
    expect((await askAt({ socketPath: path }, "GET", "/livez")).status).toBe(200);
  });

  test("leaves one on which somebody answers, and ends", async () => {
    const path = join(temporaryFolder(), "admin.sock");
    await startLivezone({ files: await filesWith(path) });
    expect(await refusal(path)).toMatch(/^livezone: .*another server answers there.*\[ADMIN_SOCKET_IN_USE\]\n$/);
    expect((await askAt({ socketPath: path }, "GET", "/livez")).status).toBe(200);
  });

  test("leaves one whose owner is stopped, not dead", async () => {
    const path = join(temporaryFolder(), "admin.sock");
    const program = `require("node:net").createServer().listen(${JSON.stringify(path)}, () => console.log("up"))`;
    const other = await startProcess(process.execPath, ["-e", program], { readyWhen: /up/ });
    other.signal("SIGSTOP");
    expect(await refusal(path)).toContain("ADMIN_SOCKET_IN_USE");
    other.signal("SIGCONT");
  });

  test("leaves a file that is none", async () => {
    const path = join(temporaryFolder(), "admin.sock");
    writeFileSync(path, "precious");
    expect(await refusal(path)).toContain("ADMIN_SOCKET_OCCUPIED");
    expect(statSync(path).size).toBe(8);
  });

  test.each([["a folder that is not there", "/nonexistent/livezone/deep/admin.sock", "does not exist"]])(
    "says what is wrong with %s",
    async (_, path, why) => {
      const said = await refusal(path);
      expect(said.trimEnd().split("\n")).toHaveLength(1);
      expect(said).toContain(why);
    },
  );

  test("says what is wrong with a path that the kernel would cut, as part of the configuration", async () => {
    const said = await refusal(`/tmp/${"x".repeat(110)}`);
    expect(said).toContain("at most 107");
    expect(said).toContain("CONFIG_SOCKET_PATH_LONG");
  });

  test("says who may not write where it should be", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "file"));
    writeFileSync(join(folder, "file/x"), "");
    expect(await refusal(join(folder, "file/x/admin.sock"))).toContain("is no folder");
  });

  test("is not touched by a server that cannot start for another reason", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const address = taken.address();
    const port = typeof address === "object" ? address?.port : 0;
    const path = join(temporaryFolder(), "admin.sock");
    const files = await filesWith(path);
    const main = files["livezone.yaml"]?.replace("admin: {", `admin: { http: "127.0.0.1:${port}",`) ?? "";
    const livezone = await startLivezone({ files: { ...files, "livezone.yaml": main }, awaitReady: false });
    expect((await livezone.ended).code).toBe(1);
    expect(livezone.stderr()).toContain("LISTEN_ADDRESS_IN_USE");
    expect(existsSync(path)).toBe(false);
    await new Promise((resolve) => taken.close(resolve));
  });
});
