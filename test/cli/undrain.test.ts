import { createServer as createHttpServer } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { userInfo } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startAdminServer } from "../admin/server.js";
import { afterThisTest } from "../support/cleanup.js";
import { freePort } from "../support/ports.js";
import { temporaryFolder } from "../support/temp.js";
import { runHere } from "./in-process.js";
import { change, startStandIn, targetUp } from "./stand-in.js";

const WORDS = ["undrain", "api.k8s.example.test", "cp1"];
const REFUSED = { class: "refused", reason: "connection refused", durationMs: 1 } as const;

describe("livezone undrain", () => {
  test("asks for it by the target's route, in the name of the user", async () => {
    const { url, asked } = await startStandIn({ POST: change() });
    await runHere("undrain", "api.k8s.example.test", "a/b", "--admin", url);
    expect(asked).toEqual([
      {
        method: "POST",
        path: "/api/v1/endpoints/api.k8s.example.test/targets/a%2Fb/undrain",
        body: { author: userInfo().username },
      },
    ]);
  });

  test.each([
    { name: "was drained", reply: {}, says: "is not drained any more; it is answered" },
    { name: "was not", reply: { changed: false }, says: "was not drained; it is answered" },
    {
      name: "is down",
      reply: { target: targetUp({ health: "down", answered: false }) },
      says: "is not drained any more; it is not answered, it is down",
    },
    {
      name: "has failed its probe",
      reply: { target: targetUp({ health: "down", answered: false, last: REFUSED }) },
      says: "is not drained any more; it is not answered, it is down: connection refused",
    },
    {
      name: "has no result yet",
      reply: { target: targetUp({ health: "unknown", answered: false }) },
      says: "is not drained any more; it is not answered, no probe of it has ended yet",
    },
    {
      name: "is disabled",
      reply: { target: { ...targetUp({ health: "unknown", answered: false }), disabled: true } },
      says: "is not drained any more; it is not answered, the configuration disables it",
    },
  ])("says what came of it when the target $name", async ({ reply, says }) => {
    const { url } = await startStandIn({ POST: change(reply) });
    expect(await runHere(...WORDS, "--admin", url)).toEqual({
      code: 0,
      stdout: `cp1 of api.k8s.example.test ${says}\n`,
      stderr: "",
    });
  });

  test("prints with --json what the server said", async () => {
    const { url } = await startStandIn({ POST: change() });
    const { code, stdout, stderr } = await runHere(...WORDS, "--json", "--admin", url);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual(change());
  });
});

test("right after a restart, undrain says why a target is not answered yet", { timeout: 60_000 }, async () => {
  const port = await freePort();
  await listen(silentServer(), "127.0.0.11", port);
  await listen(
    createHttpServer((_request, response) => void response.end("ok")),
    "127.0.0.13",
    port,
  );
  // The one probe of cp1 goes on for longer than this test; nothing listens at cp2.
  const options = {
    main: `stateDir: ${join(temporaryFolder(), "state")}\n`,
    zone: `zone: k8s.example.test
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
endpoints:
  api:
    port: ${port}
    probe: { type: http, interval: 60s, timeout: 60s }
    targets: { cp1: 127.0.0.11, cp2: 127.0.0.12, cp3: 127.0.0.13, cp4: { addresses: 127.0.0.14, disabled: true } }
`,
  };
  const before = await startAdminServer(options);
  for (const target of ["cp1", "cp2"]) {
    const drained = await runHere("drain", "api.k8s.example.test", target, "--admin", before.socket.socketPath);
    expect(drained).toMatchObject({ code: 0 });
  }
  await before.livezone.stop();
  const { socket } = await startAdminServer(options);
  const undrain = async (target: string) =>
    (await runHere("undrain", "api.k8s.example.test", target, "--admin", socket.socketPath)).stdout;
  expect(await undrain("cp1")).toBe(
    "cp1 of api.k8s.example.test is not drained any more; it is not answered, no probe of it has ended yet\n",
  );
  expect(await undrain("cp2")).toBe(
    "cp2 of api.k8s.example.test is not drained any more; it is not answered, it is down: connection refused: nothing listens on the port\n",
  );
  expect(await undrain("cp4")).toBe(
    "cp4 of api.k8s.example.test was not drained; it is not answered, the configuration disables it\n",
  );
  const { stdout } = await runHere("status", "--admin", socket.socketPath);
  expect(stdout).toContain("! api.k8s.example.test: 1 of 3 targets up: cp1 is unknown, cp2 is down");
  expect(stdout).toMatch(/cp4 +127\.0\.0\.14 +disabled +.* no +- +- +not probed$/m);
});

/** Accepts connections and never says anything. */
function silentServer(): Server {
  const open = new Set<Socket>();
  afterThisTest(() => {
    for (const socket of open) socket.destroy();
  });
  return createServer((socket) => {
    open.add(socket);
    socket.on("error", () => {}).on("close", () => open.delete(socket));
  });
}

async function listen(server: Server, address: string, port: number): Promise<void> {
  await new Promise<void>((resolve) => server.listen(port, address, resolve));
  afterThisTest(() => void server.close());
}
