import { type ChildProcess, fork } from "node:child_process";
import { installed } from "../lib/installation.js";
import type { ApiserverOrder, ApiserverReport } from "./apiserver-messages.js";

/** The stand-in to run: always the built one, since a forked Node cannot run the TypeScript that a test runner runs. */
const PROGRAM = installed("dist/demo/apiserver.js");

/** Children that live: one that is stopped would not notice that its parent has gone. */
const alive = new Set<ChildProcess>();
let isExitHandled = false;

/** An order before it has got its number. */
type Order = ApiserverOrder extends infer Each ? (Each extends ApiserverOrder ? Omit<Each, "id"> : never) : never;

/** What waits for a report on an order. */
interface Waiting {
  resolve(port: number): void;
  reject(error: Error): void;
}

/** One process of a stand-in apiserver, which takes orders. */
export class ApiserverChild {
  /** Resolves when the process is gone, or could not be started. */
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  /** Starts a process, which listens nowhere until it is ordered to. */
  constructor() {
    killAllAtExit();
    // No flags of ours: a debugger's port or a test runner's loader is not for the child.
    const child = fork(PROGRAM, [], { execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] });
    alive.add(child);
    this.#child = child;
    child.on("message", (report: ApiserverReport) => this.#settle(report));
    this.ended = new Promise((resolve) => {
      const end = (error: Error) => {
        alive.delete(child);
        this.#failAll(error);
        resolve();
      };
      child.once("exit", (code, signal) => end(new Error(`the apiserver ended (${signal ?? `exit code ${code}`})`)));
      child.on("error", (error) => {
        this.#failAll(error);
        // It could not be started, so there will be no exit either.
        if (child.pid === undefined) end(error);
      });
    });
  }

  /** 0 for one that could not be started. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  kill(signal: "SIGKILL" | "SIGTERM" | "SIGSTOP" | "SIGCONT"): void {
    this.#child.kill(signal);
  }

  /** Sends an order; resolves with the port once it has been carried out, and rejects if it cannot be. */
  order(order: Order): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#lastId += 1;
      const id = this.#lastId;
      this.#waiting.set(id, { resolve, reject });
      this.#child.send({ id, ...order }, (error) => {
        if (error !== null) reject(error);
      });
    });
  }

  #settle(report: ApiserverReport): void {
    const order = this.#waiting.get(report.id);
    this.#waiting.delete(report.id);
    if (report.ok) order?.resolve(report.port);
    else order?.reject(Object.assign(new Error(report.message), { code: report.code }));
  }

  #failAll(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

function killAllAtExit(): void {
  if (isExitHandled) return;
  isExitHandled = true;
  process.on("exit", () => {
    for (const child of alive) child.kill("SIGKILL");
  });
}
