import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import {
  type AdminAddress,
  createAdminClient,
  formatAdminAddress,
  parseAdminAddress,
  type RawEvent,
} from "../../src/client/admin.js";
import { codeOf, messageOf } from "../../src/lib/errors.js";
import { afterThisTest } from "../support/cleanup.js";
import { temporaryFolder } from "../support/temp.js";
import { waitUntil } from "../support/wait.js";

/** What an outcome that must be an error says. */
async function errorOf(outcome: Promise<unknown>): Promise<{ readonly code: string; readonly message: string }> {
  try {
    await outcome;
  } catch (error) {
    return { code: codeOf(error), message: messageOf(error) };
  }
  throw new Error("nothing went wrong");
}

/** Lets a server listen on loopback, or on a socket; it ends with the test. */
async function listen(server: Server, path?: string): Promise<AdminAddress> {
  await new Promise<void>((done) => {
    if (path === undefined) server.listen(0, "127.0.0.1", done);
    else server.listen(path, done);
  });
  afterThisTest(() => {
    if ("closeAllConnections" in server) (server as ReturnType<typeof createServer>).closeAllConnections();
    server.close();
  });
  if (path !== undefined) return { kind: "socket", path };
  return { kind: "http", url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`) };
}

const serve = (listener: RequestListener, path?: string) => listen(createServer(listener), path);

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

describe("where a server is", () => {
  test.each([
    { text: "http://127.0.0.1:9853", shown: "http://127.0.0.1:9853/" },
    { text: "HTTPS://dns.example.com/livezone/", shown: "https://dns.example.com/livezone/" },
    { text: "http://[::1]:9853", shown: "http://[::1]:9853/" },
    { text: "/run/livezone/admin.sock", shown: "/run/livezone/admin.sock" },
    { text: "unix:/run/admin.sock", shown: "/run/admin.sock" },
    { text: "unix:///run/admin.sock", shown: "/run/admin.sock" },
    { text: "admin.sock", shown: resolve("admin.sock") },
  ])("$text is $shown", ({ text, shown }) => {
    expect(formatAdminAddress(parseAdminAddress(text))).toBe(shown);
  });

  test.each([
    { text: "http://", remedy: "write a URL such as http://127.0.0.1:9853" },
    { text: "http://user@127.0.0.1", remedy: "write a URL such as" },
    { text: "http://127.0.0.1/?a=b", remedy: "write a URL such as" },
    { text: "http://127.0.0.1/#a", remedy: "write a URL such as" },
    { text: "", remedy: "write the path of a socket, or a URL with http or https" },
    { text: "unix:", remedy: "write the path of a socket" },
    { text: "ftp://127.0.0.1", remedy: "write the path of a socket" },
    { text: "unix://host/admin.sock", remedy: "write the path of a socket" },
  ])("$text is no place, and it is said what to write", async ({ text, remedy }) => {
    const { code, message } = await errorOf((async () => parseAdminAddress(text))());
    expect(code).toBe("ADMIN_ADDRESS");
    expect(message).toContain(`--admin ${text}: ${remedy}`);
  });
});

describe("a question", () => {
  /** Replies with what was asked. */
  const echo: RequestListener = async (request, response) => {
    const { method, url, headers } = request;
    const said = { method, url, headers, body: await textOf(request) };
    response.writeHead(200, { "livezone-version": "1.2.3" }).end(JSON.stringify(said));
  };

  test("without a body is one, with its reply and the server's version", async () => {
    const { status, body, version } = await createAdminClient(await serve(echo)).ask("GET", "/api/v1/status");
    expect({ status, version }).toEqual({ status: 200, version: "1.2.3" });
    expect(body).toMatchObject({ method: "GET", url: "/api/v1/status", body: "" });
    expect((body as { headers: object }).headers).not.toHaveProperty("authorization");
  });

  test("with a body sends it as JSON, with its length in octets", async () => {
    const { body } = await createAdminClient(await serve(echo)).ask("POST", "/x", { reason: "é" });
    expect(body).toMatchObject({
      method: "POST",
      body: '{"reason":"é"}',
      headers: { "content-type": "application/json", "content-length": "15" },
    });
  });

  test("is asked below the path of the URL", async () => {
    const address = await serve(echo);
    if (address.kind === "http") address.url.pathname = "/dns/";
    expect((await createAdminClient(address).ask("GET", "/api")).body).toMatchObject({ url: "/dns/api" });
  });

  test("carries the token by HTTP, and not through a socket", async () => {
    const overHttp = await createAdminClient(await serve(echo), { token: "sesame" }).ask("GET", "/");
    expect(overHttp.body).toMatchObject({ headers: { authorization: "Bearer sesame" } });
    const address = await serve(echo, join(temporaryFolder(), "admin.sock"));
    const overSocket = await createAdminClient(address, { token: "sesame" }).ask("GET", "/api");
    expect(overSocket.body).toMatchObject({ url: "/api", headers: { host: "localhost" } });
    expect((overSocket.body as { headers: object }).headers).not.toHaveProperty("authorization");
  });

  test("gets whatever status and text came; no JSON is no body", async () => {
    const address = await serve((_request, response) => response.writeHead(503).end("<html>"));
    expect(await createAdminClient(address).ask("GET", "/")).toEqual({ status: 503, body: undefined });
  });
});

describe("no reply", () => {
  const where = (address: AdminAddress) => `no livezone server at ${formatAdminAddress(address)}: `;

  test("says that there is no socket, and what to do", async () => {
    const address: AdminAddress = { kind: "socket", path: join(temporaryFolder(), "none.sock") };
    expect(await errorOf(createAdminClient(address).ask("GET", "/"))).toEqual({
      code: "ADMIN_UNREACHABLE",
      message: `${where(address)}there is no socket; is it running? Name another place with --admin SOCKET|URL`,
    });
    expect(await errorOf(createAdminClient(address, { remedy: "start it" }).ask("GET", "/"))).toMatchObject({
      message: `${where(address)}there is no socket; start it`,
    });
  });

  test("says that nothing listens", async () => {
    const address: AdminAddress = { kind: "http", url: new URL("http://127.0.0.1:1/") };
    const said = await errorOf(createAdminClient(address).ask("GET", "/"));
    expect(said.message).toContain("http://127.0.0.1:1/: nothing listens there; is it running?");
  });

  test("says that the connection was closed", async () => {
    const address = await listen(createTcpServer((socket) => socket.end()));
    expect(await errorOf(createAdminClient(address).ask("GET", "/"))).toEqual({
      code: "ADMIN_UNREACHABLE",
      message: `${where(address)}the connection was closed before a reply`,
    });
  });

  test.each([
    { name: "no reply", begin: false },
    { name: "a reply that does not end", begin: true },
  ])("says that it did not come in time: $name", async ({ begin }) => {
    const address = await serve((_request, response) => {
      if (begin) response.write("{");
    });
    expect(await errorOf(createAdminClient(address, { timeoutMs: 100 }).ask("GET", "/"))).toEqual({
      code: "ADMIN_UNREACHABLE",
      message: `${where(address)}no reply in time`,
    });
  });

  test("says that a reply was cut off", async () => {
    const address = await serve((_request, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("{", () => response.destroy());
    });
    expect((await errorOf(createAdminClient(address).ask("GET", "/"))).code).toBe("ADMIN_UNREACHABLE");
  });

  test("takes no reply of more than 64 MiB", async () => {
    const address = await serve((_request, response) => {
      const piece = Buffer.alloc(4 * 1024 * 1024, " ");
      let pieces = 0;
      const more = () => {
        // One too many.
        if (pieces++ <= 16) response.write(piece, more);
      };
      more();
    });
    expect((await errorOf(createAdminClient(address).ask("GET", "/"))).message).toContain(
      "the reply has more than 67108864 octets",
    );
  });
});

describe("events", () => {
  /** Reads to the end what a server writes, piece by piece, as its stream of events. */
  async function eventsOf(pieces: readonly string[], since?: string): Promise<RawEvent[]> {
    const address = await serve(async (request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const piece of pieces) {
        const text = piece.replace("SINCE", String(request.headers["last-event-id"]));
        await new Promise<void>((done) => response.write(text, () => done()));
      }
      response.end();
    });
    const events: RawEvent[] = [];
    for await (const event of createAdminClient(address).events(new AbortController().signal, since))
      events.push(event);
    return events;
  }

  test.each([
    { name: "whole", pieces: ['id: 7\nevent: reload\ndata: {"ok":true}\n\n'] },
    { name: "cut anywhere", pieces: ["id: 7\nev", "ent: relo", 'ad\ndata: {"ok"', ":true}", "\n", "\n"] },
    { name: "behind comments", pieces: [": hello\n\n: still here\n\n", 'id: 7\nevent: reload\ndata: {"ok":true}\n\n'] },
    { name: "with fields unknown here", pieces: ['retry: 5\nid: 7\nevent: reload\ndata: {"ok":true}\n\n'] },
    { name: "before one that is cut off", pieces: ['id: 7\nevent: reload\ndata: {"ok":true}\n\n', "id: 8\nevent: re"] },
  ])("are read $name", async ({ pieces }) => {
    expect(await eventsOf(pieces)).toEqual([{ id: "7", type: "reload", data: { ok: true } }]);
  });

  test("are read one after the other, each with its own fields", async () => {
    expect(await eventsOf(["id: 1\nevent: a\ndata: 1\n\nevent: b\n\n"])).toEqual([
      { id: "1", type: "a", data: 1 },
      { id: "", type: "b", data: undefined },
    ]);
  });

  test("begin after the one that is known", async () => {
    const stream = ['event: a\ndata: "SINCE"\n\n'];
    expect(await eventsOf(stream, "41")).toMatchObject([{ data: "41" }]);
    expect(await eventsOf(stream)).toMatchObject([{ data: "undefined" }]);
  });

  test("end at a line longer than any event", async () => {
    expect(await eventsOf(["event: a\n\n", "x".repeat(2 * 1024 * 1024), "\nevent: b\n\n"])).toMatchObject([
      { type: "a" },
    ]);
  });

  test("end when the caller has had enough, and the connection with them", async () => {
    let isClosed = false;
    const address = await serve((request, response) => {
      response.write("event: a\n\n");
      request.on("close", () => {
        isClosed = true;
      });
    });
    const ending = new AbortController();
    for await (const { type } of createAdminClient(address).events(ending.signal)) {
      expect(type).toBe("a");
      ending.abort();
    }
    await waitUntil(() => isClosed);
  });

  test("that are refused, or not there, are an error", async () => {
    const address = await serve((_request, response) => response.writeHead(404).end());
    const signal = new AbortController().signal;
    expect(await errorOf(createAdminClient(address).events(signal).next())).toEqual({
      code: "ADMIN_EVENTS_REFUSED",
      message: "the server does not give its events: HTTP 404",
    });
    const nobody = createAdminClient({ kind: "socket", path: join(temporaryFolder(), "none.sock") });
    expect((await errorOf(nobody.events(signal).next())).code).toBe("ADMIN_UNREACHABLE");
  });
});
