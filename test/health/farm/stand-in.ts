import { createServer, type Server, type Socket } from "node:net";
import { createSecureContext, type SecureContext, TLSSocket } from "node:tls";
import { type Condition, holding } from "../simulator/conditions.js";

/** What all stand-ins of a farm share. */
export interface FarmSettings {
  readonly good: SecureContext;
  /** Of an authority that nobody trusts. */
  readonly untrusted: SecureContext;
  /** Milliseconds since the beginning of the history. */
  nowMs(): number;
}

const STATUS = {
  ok: ["200 OK", "ok"],
  "not-ready": ["500 Internal Server Error", "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n"],
  "auth-required": ["403 Forbidden", ""],
  overloaded: ["429 Too Many Requests", ""],
} as const;

export function contextOf(certificate: { readonly certPem: string; readonly keyPem: string }): SecureContext {
  return createSecureContext({ cert: certificate.certPem, key: certificate.keyPem, minVersion: "TLSv1.2" });
}

/**
 * A TLS server that lives through the conditions of one target in real time, as a kube-apiserver would show them. The
 * troubles of a network (`black-hole`, `no-route`, `loss`) it cannot play.
 */
export class StandIn {
  readonly #conditions: readonly Condition[];
  readonly #settings: FarmSettings;
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #isStopped = false;

  constructor(conditions: readonly Condition[], settings: FarmSettings) {
    this.#conditions = conditions;
    this.#settings = settings;
    this.#server = createServer((raw) => this.#accept(raw));
    this.#server.on("error", () => {});
  }

  /** Begins to listen, if the conditions let it, and to live through them. */
  async start(address: string, port: number): Promise<void> {
    const listen = () => {
      if (!this.#isStopped) this.#server.listen(port, address, 512);
    };
    const listening = new Promise((resolve) => this.#server.once("listening", resolve));
    const isGone = holding(this.#conditions, "gone", this.#settings.nowMs()) !== undefined;
    if (!isGone) listen();
    for (const { kind, fromMs, toMs } of this.#conditions) {
      if (kind !== "gone") continue;
      this.#at(fromMs, () => this.#close());
      this.#at(toMs, listen);
    }
    if (!isGone) await listening;
  }

  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#close();
  }

  #close(): void {
    if (this.#server.listening) this.#server.close();
    for (const socket of this.#open) socket.resetAndDestroy();
  }

  #at(atMs: number, act: () => void): void {
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        act();
      },
      Math.max(0, atMs - this.#settings.nowMs()),
    );
    this.#timers.add(timer);
  }

  /** Does something that takes `workMs`, once the process runs. */
  #work(workMs: number, act: () => void): void {
    const nowMs = this.#settings.nowMs();
    const stopped = holding(this.#conditions, "stopped", nowMs);
    if (stopped !== undefined) this.#at(stopped.toMs, () => this.#work(workMs, act));
    else if (workMs > 0) this.#at(nowMs + workMs, act);
    else act();
  }

  #accept(raw: Socket): void {
    this.#open.add(raw);
    raw.on("error", () => {});
    raw.on("close", () => this.#open.delete(raw));
    this.#work(0, () => {
      if (!raw.destroyed) this.#greet(raw);
    });
  }

  #greet(raw: Socket): void {
    const { good, untrusted, nowMs } = this.#settings;
    const isUntrusted = holding(this.#conditions, "untrusted", nowMs()) !== undefined;
    const socket = new TLSSocket(raw, { isServer: true, secureContext: isUntrusted ? untrusted : good });
    socket.on("error", () => raw.destroy());
    let request = "";
    socket.on("data", (chunk: Buffer) => {
      request += chunk.toString("latin1");
      if (!request.includes("\r\n\r\n")) return;
      const isKept = /^connection: keep-alive$/im.test(request);
      request = "";
      this.#answer(socket, isKept);
    });
  }

  #answer(socket: TLSSocket, isKept: boolean): void {
    const answer = holding(this.#conditions, "answers", this.#settings.nowMs());
    this.#work(answer?.tookMs ?? 0, () => {
      if (socket.destroyed) return;
      const [line, body] = STATUS[answer?.class ?? "ok"];
      const head = `HTTP/1.1 ${line}\r\nContent-Length: ${body.length}\r\n`;
      if (isKept) socket.write(`${head}\r\n${body}`);
      else socket.end(`${head}Connection: close\r\n\r\n${body}`);
    });
  }
}
