import { type ChildProcess, fork } from "node:child_process";
import { codeOf, messageOf, UserError } from "../lib/errors.js";
import { installed } from "../lib/installation.js";
import type { ApiserverOrder, ApiserverReport } from "./apiserver-messages.js";
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

/** The stand-in to run: always the built one, since a forked Node cannot run the TypeScript that a test runner runs. */
const PROGRAM = installed("dist/demo/apiserver.js");

/** Children that live: one that is stopped would not notice that its parent has gone. */
const alive = new Set<ChildProcess>();
let exitHandled = false;

/**
 * Starts a stand-in apiserver and resolves once it listens.
 * Rejects with a {@link UserError}: `APISERVER_ADDRESS_IN_USE`, or `APISERVER_NOT_STARTED` for anything else.
 */
export async function startApiserver(options: ApiserverOptions): Promise<Apiserver> {
  const { address, shutdownDelayMs = 0 } = options;
  let { port, certPem, keyPem } = options;
  let current = await launch();
  /** The revival under way: a key pressed twice must not start two processes. */
  let reviving: Promise<void> | undefined;

  async function launch(): Promise<Running> {
    const running = spawnApiserver();
    try {
      const settings = { address, port, certPem, keyPem, shutdownDelayMs, failing: [] };
      port = await running.order({ kind: "start", settings });
      running.state = "running";
      return running;
    } catch (error) {
      running.child.kill("SIGKILL");
      await running.ended;
      throw startError(error, address, port);
    }
  }

  function requireServing(): void {
    if (current.state === "running" || current.state === "unready") return;
    throw new UserError(`the apiserver at ${address}:${port} is ${current.state}`, "APISERVER_NOT_RUNNING");
  }

  async function revive(): Promise<void> {
    if (current.state === "stopping") await current.ended;
    if (isGone(current)) current = await launch();
    apiserver.resume();
    if (current.state === "unready") await apiserver.setReady(true);
  }

  const apiserver: Apiserver = {
    address,
    get port() {
      return port;
    },
    get pid() {
      return current.child.pid ?? 0;
    },
    get state() {
      return current.state;
    },
    async crash() {
      if (!isGone(current)) current.child.kill("SIGKILL");
      await current.ended;
    },
    hang() {
      if (current.state !== "running" && current.state !== "unready") return;
      current.beforeHang = current.state;
      current.state = "hung";
      current.child.kill("SIGSTOP");
    },
    resume() {
      if (current.state !== "hung") return;
      current.state = current.beforeHang;
      current.child.kill("SIGCONT");
    },
    async setReady(ready, failing = ["etcd"]) {
      requireServing();
      await current.order({ kind: "ready", failing: ready ? [] : failing });
      if (current.state === "running" || current.state === "unready") current.state = ready ? "running" : "unready";
    },
    async setCertificate(certificate) {
      if (!isGone(current)) {
        requireServing();
        await current.order({ kind: "certificate", ...certificate });
      }
      certPem = certificate.certPem;
      keyPem = certificate.keyPem;
    },
    revive() {
      reviving ??= revive().finally(() => {
        reviving = undefined;
      });
      return reviving;
    },
    async stop() {
      if (!isGone(current)) {
        const hung = current.state === "hung";
        current.state = "stopping";
        current.child.kill(hung ? "SIGKILL" : "SIGTERM");
      }
      await current.ended;
    },
  };
  return apiserver;
}

/** One process of a stand-in; a revival makes another. */
interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
  state: ApiserverState;
  beforeHang: ApiserverState;
  /** Sends an order; resolves with the port once it has been carried out. */
  order(order: Order): Promise<number>;
}

/** An order before it has got its number. */
type Order = ApiserverOrder extends infer Each ? (Each extends ApiserverOrder ? Omit<Each, "id"> : never) : never;

function spawnApiserver(): Running {
  if (!exitHandled) {
    exitHandled = true;
    process.on("exit", () => {
      for (const child of alive) child.kill("SIGKILL");
    });
  }
  // No flags of ours: a debugger's port or a test runner's loader is not for the child.
  const child = fork(PROGRAM, [], { execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] });
  alive.add(child);

  const waiting = new Map<number, { resolve(port: number): void; reject(error: Error): void }>();
  let lastId = 0;
  const failAll = (error: Error) => {
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  child.on("message", (report: ApiserverReport) => {
    const order = waiting.get(report.id);
    waiting.delete(report.id);
    if (report.ok) order?.resolve(report.port);
    else order?.reject(Object.assign(new Error(report.message), { code: report.code }));
  });

  const running: Running = {
    child,
    state: "running",
    beforeHang: "running",
    ended: new Promise((resolve) => {
      const end = (error: Error) => {
        alive.delete(child);
        running.state = running.state === "stopping" ? "stopped" : "crashed";
        failAll(error);
        resolve();
      };
      child.once("exit", (code, signal) => end(new Error(`the apiserver ended (${signal ?? `exit code ${code}`})`)));
      child.on("error", (error) => {
        failAll(error);
        // It could not be started, so there will be no exit either.
        if (child.pid === undefined) end(error);
      });
    }),
    order(order) {
      return new Promise((resolve, reject) => {
        const id = ++lastId;
        waiting.set(id, { resolve, reject });
        child.send({ id, ...order }, (error) => {
          if (error !== null) reject(error);
        });
      });
    },
  };
  return running;
}

function isGone({ state }: Running): boolean {
  return state === "crashed" || state === "stopped";
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
