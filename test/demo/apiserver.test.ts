import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { type RequestOptions, request } from "node:https";
import { createServer } from "node:net";
import { connect } from "node:tls";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type Apiserver, type ApiserverOptions, startApiserver } from "../../src/demo/apiserver-process.js";
import { type Authority, createAuthority, type IssuedCertificate } from "../../src/demo/certificates.js";
import { waitUntil } from "../support/wait.js";

const NAME = "api.k8s.example.test";

let authority: Authority;
let certificate: IssuedCertificate;
beforeAll(async () => {
  authority = await createAuthority();
  certificate = await authority.issue({ names: [NAME] });
});

async function start(options: Partial<ApiserverOptions> = {}): Promise<Apiserver> {
  const apiserver = await startApiserver({ address: "127.0.0.11", port: 0, ...certificate, ...options });
  onTestFinished(() => apiserver.crash());
  return apiserver;
}

async function get(apiserver: Apiserver, path: string, options: RequestOptions = {}) {
  const { address, port } = apiserver;
  const sent = request({
    host: address,
    port,
    path,
    ca: authority.caPem,
    servername: NAME,
    agent: false,
    timeout: 5_000,
    ...options,
  });
  sent.end();
  sent.once("timeout", () => sent.destroy(new Error("timeout")));
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const chunks: Buffer[] = await response.toArray();
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks).toString() };
}

const status = async (apiserver: Apiserver, path = "/readyz") => (await get(apiserver, path)).status;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("a stand-in apiserver that is ready", () => {
  it("answers its health paths with ok", async () => {
    const apiserver = await start();
    for (const path of ["/readyz", "/livez", "/healthz"]) {
      expect(await get(apiserver, path)).toMatchObject({
        status: 200,
        body: "ok",
        headers: { "content-type": "text/plain; charset=utf-8" },
      });
    }
  });

  it("lists its checks for ?verbose", async () => {
    const { status, body } = await get(await start(), "/readyz?verbose");
    expect(status).toBe(200);
    expect(body).toMatch(/^\[\+\]ping ok\n(\[\+\]\S+ ok\n)+readyz check passed\n$/);
    expect(body).toContain("[+]etcd ok\n");
  });

  it("tells its version", async () => {
    const { status, body } = await get(await start(), "/version");
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({ major: "1", gitVersion: "v1.36.3" });
  });

  for (const { path, method } of [
    { path: "/", method: "GET" },
    { path: "/readyz/", method: "GET" },
    { path: "/readyz/etcd", method: "GET" },
    { path: "/api/v1/nodes", method: "GET" },
    { path: "/readyz", method: "POST" },
    { path: "/readyz", method: "HEAD" },
  ]) {
    it(`forbids ${method} ${path} to the anonymous`, async () => {
      const { status, body } = await get(await start(), path, { method });
      expect(status).toBe(403);
      if (method === "HEAD") expect(body).toBe("");
      else
        expect(JSON.parse(body)).toMatchObject({ kind: "Status", status: "Failure", reason: "Forbidden", code: 403 });
    });
  }

  it("keeps an idle connection open for 90 s, and says nothing before it is asked", async () => {
    const { headers } = await get(await start(), "/readyz", { headers: { connection: "keep-alive" } });
    expect(headers["keep-alive"]).toBe("timeout=90");
  });

  it("listens where it is told to", async () => {
    const one = await start({ address: "127.0.0.12" });
    const two = await start({ address: "127.0.0.13", port: one.port });
    expect([one.address, two.address, two.port]).toEqual(["127.0.0.12", "127.0.0.13", one.port]);
    expect(await status(two)).toBe(200);
  });
});

describe("a stand-in apiserver in trouble", () => {
  it("refuses connections after a crash, and comes back on the same port", async () => {
    const apiserver = await start();
    const { pid, port } = apiserver;
    await apiserver.crash();
    expect([apiserver.state, isAlive(pid)]).toEqual(["crashed", false]);
    await expect(status(apiserver)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    await apiserver.revive();
    expect([apiserver.state, apiserver.port]).toEqual(["running", port]);
    expect(apiserver.pid).not.toBe(pid);
    expect(await status(apiserver)).toBe(200);
  });

  it("accepts and says nothing while hung, then goes on", async () => {
    const apiserver = await start();
    apiserver.hang();
    expect(apiserver.state).toBe("hung");
    const socket = connect({ host: apiserver.address, port: apiserver.port, ca: authority.caPem, servername: NAME });
    onTestFinished(() => {
      socket.destroy();
    });
    const secure = once(socket, "secureConnect");
    await once(socket, "connect");
    expect(socket.getPeerCertificate()).toEqual({});
    await expect(get(apiserver, "/readyz", { timeout: 200 })).rejects.toThrow("timeout");
    await expect(apiserver.setReady(false)).rejects.toMatchObject({ code: "APISERVER_NOT_RUNNING" });
    apiserver.resume();
    await secure;
    expect([apiserver.state, await status(apiserver)]).toEqual(["running", 200]);
  });

  it("is unready with the checks that fail, while alive", async () => {
    const apiserver = await start();
    await apiserver.setReady(false, ["etcd", "custom"]);
    expect(apiserver.state).toBe("unready");
    const { status: code, body } = await get(apiserver, "/readyz");
    expect(code).toBe(500);
    expect(body).toMatch(/^\[\+\]ping ok\n/);
    expect(body).toContain("[-]etcd failed: reason withheld\n");
    expect(body).toContain("[-]custom failed: reason withheld\n");
    expect(body).toMatch(/\nreadyz check failed\n$/);
    expect(await status(apiserver, "/livez")).toBe(200);
    await apiserver.setReady(true);
    expect([apiserver.state, await status(apiserver)]).toEqual(["running", 200]);
  });

  it("is unready during a graceful shutdown, serves on, and then ends", async () => {
    const apiserver = await start({ shutdownDelayMs: 1_000 });
    const { pid } = apiserver;
    const stopped = apiserver.stop();
    const body = await waitUntil(async () => {
      const reply = await get(apiserver, "/readyz");
      return reply.status === 500 ? reply.body : undefined;
    });
    expect(body).toContain("[-]shutdown failed: reason withheld\n");
    expect([apiserver.state, await status(apiserver, "/livez")]).toEqual(["stopping", 200]);
    await stopped;
    expect([apiserver.state, isAlive(pid)]).toEqual(["stopped", false]);
  });

  it("presents another certificate, also after a revival", async () => {
    const apiserver = await start();
    const expired = await authority.issue({ names: [NAME], notAfter: new Date(Date.now() - 1_000) });
    await apiserver.setCertificate(expired);
    await expect(status(apiserver)).rejects.toMatchObject({ code: "CERT_HAS_EXPIRED" });
    await apiserver.crash();
    await apiserver.revive();
    await expect(status(apiserver)).rejects.toMatchObject({ code: "CERT_HAS_EXPIRED" });
    await apiserver.crash();
    await apiserver.setCertificate(certificate);
    await apiserver.revive();
    expect(await status(apiserver)).toBe(200);
  });

  it("is revived from every state", async () => {
    const apiserver = await start();
    const troubles: (() => unknown)[] = [
      () => {},
      () => apiserver.hang(),
      () => apiserver.setReady(false),
      async () => {
        await apiserver.setReady(false);
        apiserver.hang();
      },
      () => apiserver.crash(),
      () => apiserver.stop(),
    ];
    for (const trouble of troubles) {
      await trouble();
      await apiserver.revive();
      expect([apiserver.state, await status(apiserver)]).toEqual(["running", 200]);
    }
  });

  it("is started once when it is revived twice at a time", async () => {
    const apiserver = await start();
    await apiserver.crash();
    await Promise.all([apiserver.revive(), apiserver.revive()]);
    expect([apiserver.state, await status(apiserver)]).toEqual(["running", 200]);
  });

  it("notices that its process was killed by another", async () => {
    const apiserver = await start();
    process.kill(apiserver.pid, "SIGKILL");
    await waitUntil(() => apiserver.state === "crashed");
  });

  it("stops at once when hung", async () => {
    const apiserver = await start({ shutdownDelayMs: 60_000 });
    apiserver.hang();
    await apiserver.stop();
    expect(isAlive(apiserver.pid)).toBe(false);
  });
});

describe("a stand-in apiserver that cannot start", () => {
  it("says that its address is in use", async () => {
    const server = createServer();
    server.listen(0, "127.0.0.11");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no address");
    await expect(start({ port: address.port })).rejects.toMatchObject({
      name: "UserError",
      code: "APISERVER_ADDRESS_IN_USE",
      message: `the stand-in apiserver cannot listen on 127.0.0.11:${address.port}: in use`,
    });
  });

  it("says what is wrong with its certificate", async () => {
    await expect(start({ certPem: "no certificate" })).rejects.toMatchObject({ code: "APISERVER_NOT_STARTED" });
  });
});
