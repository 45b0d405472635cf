import { codeOf, messageOf, UserError } from "../lib/errors.js";
import { ApiserverChild } from "./apiserver-child.js";
import type { IssuedCertificate } from "./certificates.js";

/** How a stand-in apiserver is started. */
export interface ApiserverOptions extends IssuedCertificate {
  /** IPv4 or IPv6 literal, any of 127.0.0.0/8 on Linux. */
  readonly address: string;
  /** 0 lets the system choose; {@link Apiserver.port} then tells, and a revival uses the same one. */
  readonly port: number;
  /** Milliseconds it goes on serving, unready, after {@link Apiserver.stop}. Default 0, as kube-apiserver's. */
  readonly shutdownDelayMs?: number;
}

/**
 * - `running`: ready. `unready`: it serves, and `/readyz` says 500.
 * - `hung`: stopped by SIGSTOP; connections are accepted by the kernel and nothing answers.
 * - `crashed`: killed, or ended by itself. `stopping`: SIGTERM was sent. `stopped`: it ended after that.
 */
export type ApiserverState = "running" | "unready" | "hung" | "crashed" | "stopping" | "stopped";

/** A stand-in apiserver in a process of its own. */
export interface Apiserver {
  readonly address: string;
  readonly port: number;
  /** Of the present process, or of the last one if none runs. */
  readonly pid: number;
  readonly state: ApiserverState;
  /** SIGKILL; resolves when the process is gone. */
  crash(): Promise<void>;
  /** SIGSTOP. Does nothing where no process runs. */
  hang(): void;
  /** SIGCONT: it goes on as it was before {@link hang}. */
  resume(): void;
  /**
   * Lets `/readyz` pass, or fail with the checks named (default `etcd`).
   * Rejects with `APISERVER_NOT_RUNNING` unless it is `running` or `unready`.
   */
  setReady(ready: boolean, failing?: readonly string[]): Promise<void>;
  /**
   * Presents another certificate on new connections and after a revival.
   * Rejects with `APISERVER_NOT_RUNNING` if it is `hung` or `stopping`; one that does not run takes it at its revival.
   */
  setCertificate(certificate: IssuedCertificate): Promise<void>;
  /**
   * Makes it `running` whatever it is now: starts it again on the same port, lets it go on, or makes it ready.
   * Rejects as {@link startApiserver} does; called again meanwhile, it is the same revival.
   */
  revive(): Promise<void>;
  /** SIGTERM, the shutdown delay, the end; a hung one is killed. Resolves when the process is gone. */
  stop(): Promise<void>;
}

/**
 * Starts a stand-in apiserver and resolves once it listens.
 * Rejects with a {@link UserError}: `APISERVER_ADDRESS_IN_USE`, or `APISERVER_NOT_STARTED` for anything else.
 */
export async function startApiserver(options: ApiserverOptions): Promise<Apiserver> {
  const apiserver = new ApiserverProcess(options);
  await apiserver.launch();
  return apiserver;
}

class ApiserverProcess implements Apiserver {
  readonly address: string;
  readonly #shutdownDelayMs: number;
  #port: number;
  #certificate: IssuedCertificate;
  /** The process that runs, or the last one. */
  #child: ApiserverChild | undefined;
  #state: ApiserverState = "stopped";
  #stateBeforeHang: ApiserverState = "running";
  /** The revival under way: a key pressed twice must not start two processes. */
  #reviving: Promise<void> | undefined;

  constructor({ address, port, certPem, keyPem, shutdownDelayMs = 0 }: ApiserverOptions) {
    this.address = address;
    this.#port = port;
    this.#certificate = { certPem, keyPem };
    this.#shutdownDelayMs = shutdownDelayMs;
  }

  get port(): number {
    return this.#port;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get state(): ApiserverState {
    return this.#state;
  }

  /** Starts a process. Rejects as {@link startApiserver} does. */
  async launch(): Promise<void> {
    const child = new ApiserverChild();
    const { address } = this;
    try {
      const settings = { address, ...this.#certificate, shutdownDelayMs: this.#shutdownDelayMs, failing: [] };
      this.#port = await child.order({ kind: "start", settings: { ...settings, port: this.#port } });
    } catch (error) {
      child.kill("SIGKILL");
      await child.ended;
      throw startError(error, address, this.#port);
    }
    this.#child = child;
    this.#state = "running";
    void child.ended.then(() => {
      this.#state = this.#state === "stopping" ? "stopped" : "crashed";
    });
  }

  async crash(): Promise<void> {
    if (!this.#isGone) this.#child?.kill("SIGKILL");
    await this.#child?.ended;
  }

  hang(): void {
    if (!this.#isServing) return;
    this.#stateBeforeHang = this.#state;
    this.#state = "hung";
    this.#child?.kill("SIGSTOP");
  }

  resume(): void {
    if (this.#state !== "hung") return;
    this.#state = this.#stateBeforeHang;
    this.#child?.kill("SIGCONT");
  }

  async setReady(ready: boolean, failing: readonly string[] = ["etcd"]): Promise<void> {
    await this.#servingChild().order({ kind: "ready", failing: ready ? [] : failing });
    if (this.#isServing) this.#state = ready ? "running" : "unready";
  }

  async setCertificate({ certPem, keyPem }: IssuedCertificate): Promise<void> {
    if (!this.#isGone) await this.#servingChild().order({ kind: "certificate", certPem, keyPem });
    this.#certificate = { certPem, keyPem };
  }

  revive(): Promise<void> {
    this.#reviving ??= this.#revive().finally(() => {
      this.#reviving = undefined;
    });
    return this.#reviving;
  }

  async stop(): Promise<void> {
    if (!this.#isGone) {
      const isHung = this.#state === "hung";
      this.#state = "stopping";
      this.#child?.kill(isHung ? "SIGKILL" : "SIGTERM");
    }
    await this.#child?.ended;
  }

  async #revive(): Promise<void> {
    if (this.#state === "stopping") await this.#child?.ended;
    if (this.#isGone) await this.launch();
    this.resume();
    if (this.#state === "unready") await this.setReady(true);
  }

  get #isServing(): boolean {
    return this.#state === "running" || this.#state === "unready";
  }

  get #isGone(): boolean {
    return this.#state === "crashed" || this.#state === "stopped";
  }

  #servingChild(): ApiserverChild {
    if (this.#child !== undefined && this.#isServing) return this.#child;
    throw new UserError(`the apiserver at ${this.address}:${this.port} is ${this.#state}`, "APISERVER_NOT_RUNNING");
  }
}

function startError(error: unknown, address: string, port: number): UserError {
  const where = `${address}:${port}`;
  return codeOf(error) === "EADDRINUSE"
    ? new UserError(`the stand-in apiserver cannot listen on ${where}: in use`, "APISERVER_ADDRESS_IN_USE", {
        cause: error,
      })
    : new UserError(`the stand-in apiserver at ${where} did not start: ${messageOf(error)}`, "APISERVER_NOT_STARTED", {
        cause: error,
      });
}
