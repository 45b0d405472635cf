import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { createAuthority } from "../../src/demo/certificates.js";
import { afterThisTest, type Cleanup } from "../support/cleanup.js";

/** An object of the API, as far as the stand-in cares. */
export interface ApiObject {
  readonly metadata: { readonly name: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** What the next requests are answered instead of what they ask for. */
export interface Fault {
  readonly status: number;
  /** Seconds. */
  readonly retryAfter?: number;
}

interface Watcher {
  readonly response: ServerResponse;
}

interface Recorded {
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: ApiObject;
}

const authority = createAuthority({ commonName: "kubernetes" });

/**
 * A stand-in for a kube-apiserver that speaks list and watch: pages, versions, chunked streams, bookmarks, and everything that
 * can go wrong with them.
 */
export class ApiServer {
  lists = 0;
  watches = 0;
  /** Requests that came, of any kind. */
  requests = 0;
  /** Paths with queries, newest last. */
  readonly asked: string[] = [];
  readonly caPem: string;
  readonly address: string;
  port = 0;
  /** Answered in place of every request while it is set. */
  fault: Fault | undefined;
  /** Token that is accepted. */
  token = "secret";
  /** Nothing is answered and nothing is sent any more, but connections stay. */
  isBlackHole = false;
  /** Sends everything in pieces of so many octets; 0 = as a whole. */
  pieceOctets = 0;
  /** Octets of padding in each object. */
  padding = 0;
  readonly #objects = new Map<string, ApiObject>();
  readonly #history: Recorded[] = [];
  readonly #watchers = new Set<Watcher>();
  #version = 100;
  /** Versions before this one are gone. */
  #oldest = 100;
  #server: Server | undefined;
  readonly #tls: { readonly cert: string; readonly key: string };

  constructor(address: string, caPem: string, tls: { readonly cert: string; readonly key: string }) {
    this.address = address;
    this.caPem = caPem;
    this.#tls = tls;
  }

  async listen(port = this.port): Promise<void> {
    const server = createServer(this.#tls, (request, response) => this.#serve(request, response));
    server.on("tlsClientError", () => {});
    server.listen({ host: this.address, port, exclusive: true });
    await once(server, "listening");
    this.#server = server;
    this.port = (server.address() as { readonly port: number }).port;
  }

  /** The process is gone. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    this.#watchers.clear();
    if (server === undefined) return;
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  }

  set(object: ApiObject): void {
    this.#version += 1;
    const { name } = object.metadata;
    const type = this.#objects.has(name) ? "MODIFIED" : "ADDED";
    const versioned = this.#versioned(object);
    this.#objects.set(name, versioned);
    this.#record({ version: this.#version, type, object: versioned });
  }

  delete(name: string): void {
    const before = this.#objects.get(name);
    if (before === undefined) return;
    this.#version += 1;
    this.#objects.delete(name);
    this.#record({ version: this.#version, type: "DELETED", object: this.#versioned(before) });
  }

  bookmark(): void {
    const object = { metadata: { name: "", resourceVersion: String(this.#version) } };
    for (const watcher of this.#watchers) this.#send(watcher, { type: "BOOKMARK", object });
  }

  /** Ends every watch in the middle. */
  disconnect(): void {
    for (const { response } of this.#watchers) response.destroy();
    this.#watchers.clear();
  }

  /** Ends every watch in good order. */
  endWatches(): void {
    for (const { response } of this.#watchers) response.end();
    this.#watchers.clear();
  }

  /** Forgets what was before: a watch from there is answered with 410. */
  compact(): void {
    this.#version += 1;
    this.#oldest = this.#version;
    this.#history.length = 0;
  }

  /** Says within each watch that it cannot go on. */
  expireWatches(): void {
    this.compact();
    for (const watcher of this.#watchers) {
      this.#send(watcher, {
        type: "ERROR",
        object: { kind: "Status", code: 410, message: "too old resource version" },
      });
    }
  }

  /** Sends these octets to every watcher as they are. */
  raw(text: string): void {
    for (const { response } of this.#watchers) response.write(text);
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  #versioned(object: ApiObject): ApiObject {
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    return { ...object, metadata, ...(this.padding === 0 ? {} : { padding: "x".repeat(this.padding) }) };
  }

  #record(event: Recorded): void {
    this.#history.push(event);
    // Flat in long runs, as the real one's.
    if (this.#history.length > 10_000) this.#oldest = this.#history.splice(0, 5_000).at(-1)?.version ?? this.#oldest;
    for (const watcher of this.#watchers) this.#send(watcher, event);
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    this.requests += 1;
    if (this.isBlackHole) return;
    const url = new URL(request.url ?? "/", "https://api");
    this.asked.push(request.url ?? "");
    if (this.asked.length > 1_000) this.asked.splice(0, 500);
    const { fault } = this;
    if (fault !== undefined) this.#status(response, fault.status, fault.retryAfter);
    else if (request.headers.authorization !== `Bearer ${this.token}`) this.#status(response, 401);
    else if (url.searchParams.get("watch") === "1") this.#watch(url, response);
    else this.#list(url, response);
  }

  #status(response: ServerResponse, code: number, retryAfter?: number): void {
    response.writeHead(code, retryAfter === undefined ? {} : { "retry-after": String(retryAfter) });
    response.end(JSON.stringify({ kind: "Status", code }));
  }

  #list(url: URL, response: ServerResponse): void {
    const limit = Number(url.searchParams.get("limit") ?? this.#objects.size);
    const from = Number(url.searchParams.get("continue") ?? 0);
    if (from === 0) this.lists += 1;
    const all = [...this.#objects.values()];
    const items = all.slice(from, from + limit);
    const next = from + limit < all.length ? { continue: String(from + limit) } : {};
    this.#write(
      response,
      JSON.stringify({ kind: "List", metadata: { resourceVersion: String(this.#version), ...next }, items }),
    );
    response.end();
  }

  #watch(url: URL, response: ServerResponse): void {
    this.watches += 1;
    const from = Number(url.searchParams.get("resourceVersion"));
    if (from < this.#oldest) {
      this.#status(response, 410);
      return;
    }
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    const watcher = { response };
    for (const event of this.#history) if (event.version > from) this.#send(watcher, event);
    this.#watchers.add(watcher);
    response.on("close", () => this.#watchers.delete(watcher));
  }

  #send({ response }: Watcher, event: unknown): void {
    if (!this.isBlackHole) this.#write(response, `${JSON.stringify(event)}\n`);
  }

  #write(response: ServerResponse, text: string): void {
    const octets = Buffer.from(text);
    const size = this.pieceOctets === 0 ? octets.length : this.pieceOctets;
    for (let start = 0; start < octets.length; start += size) response.write(octets.subarray(start, start + size));
  }
}

/** Starts a stand-in. @param port default: any */
export async function startApiServer(
  address: string,
  { port = 0, cleanup = afterThisTest }: { readonly port?: number; readonly cleanup?: Cleanup } = {},
): Promise<ApiServer> {
  const { caPem, issue } = await authority;
  const { certPem, keyPem } = await issue({ names: ["kubernetes.default.svc", address] });
  const server = new ApiServer(address, caPem, { cert: certPem, key: keyPem });
  await server.listen(port);
  cleanup(() => server.close());
  return server;
}

/** A kubeconfig for a stand-in. */
export function kubeconfigFor({ address, port, caPem }: ApiServer, token = "secret"): string {
  return JSON.stringify({
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
    clusters: [
      {
        name: "k",
        cluster: {
          server: `https://${address}:${port}`,
          "certificate-authority-data": Buffer.from(caPem).toString("base64"),
        },
      },
    ],
    users: [{ name: "u", user: { token } }],
  });
}

/** A control-plane Node. */
export function nodeObject(
  name: string,
  address: string,
  {
    labels = {},
    unschedulable,
  }: { readonly labels?: Readonly<Record<string, string>>; readonly unschedulable?: true } = {},
): ApiObject {
  return {
    metadata: { name, labels: { "node-role.kubernetes.io/control-plane": "", ...labels } },
    spec: unschedulable === undefined ? {} : { unschedulable },
    status: {
      addresses: [
        { type: "Hostname", address: name },
        { type: "InternalIP", address },
      ],
    },
  };
}
