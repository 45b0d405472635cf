import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { afterThisTest, type Cleanup } from "../support/cleanup.js";
import { requireProgram } from "../support/programs.js";
import { temporaryFolder } from "../support/temp.js";

/** One page in a headless Chromium, driven by its DevTools protocol over a pipe. */
export interface BrowserPage {
  /** Loads an address, and resolves when it is loaded. */
  open(url: string): Promise<void>;
  /** The value of a JavaScript expression in the page; promises are awaited. */
  evaluate<T>(expression: string): Promise<T>;
  /** What the page wrote to its console and what its policies refused. */
  complaints(): readonly string[];
  /** Every address that was asked for. */
  requests(): readonly string[];
  setDark(isDark: boolean): Promise<void>;
  /** Pixels. */
  setSize(width: number, height: number): Promise<void>;
  /** Presses a key by its name, such as `Tab`, `Enter`, `Escape`. */
  press(key: string): Promise<void>;
  /** A picture as PNG. */
  screenshot(): Promise<Buffer>;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
}

const FLAGS = [
  "--headless",
  // Tests may run as root, for whom Chromium has no sandbox; it loads pages of loopback only.
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
  "--window-size=1200,900",
  "--remote-debugging-pipe",
];

/** Starts Chromium; it ends with the test. */
export async function startBrowser(cleanup: Cleanup = afterThisTest): Promise<BrowserPage> {
  const profile = temporaryFolder(cleanup);
  const child = spawn(requireProgram("chromium"), [...FLAGS, `--user-data-dir=${profile}`], {
    stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
  });
  const ended = once(child, "exit");
  const input = child.stdio[3] as Writable;
  const output = child.stdio[4] as Readable;
  const waiting = new Map<number, (message: Message) => void>();
  const complaints: string[] = [];
  const requests: string[] = [];
  let loaded: () => void = () => {};
  let count = 0;
  let session: string | undefined;

  function take({ id, method, params = {}, ...rest }: Message): void {
    if (id !== undefined) waiting.get(id)?.({ id, ...rest });
    else if (method === "Page.loadEventFired") loaded();
    else if (method === "Log.entryAdded" || method === "Runtime.exceptionThrown")
      complaints.push(JSON.stringify(params));
    else if (method === "Network.requestWillBeSent") requests.push((params.request as { url: string }).url);
  }

  let rest = "";
  output.on("data", (chunk: Buffer) => {
    const parts = `${rest}${chunk.toString("utf8")}`.split("\0");
    rest = parts.pop() ?? "";
    for (const part of parts) take(JSON.parse(part));
  });

  function send(method: string, params: object = {}): Promise<Record<string, unknown>> {
    count += 1;
    const id = count;
    const message = { id, method, params, ...(session === undefined ? {} : { sessionId: session }) };
    return new Promise((resolve, reject) => {
      waiting.set(id, ({ result, error }) => {
        waiting.delete(id);
        if (error === undefined) resolve(result ?? {});
        else reject(new Error(`${method}: ${error.message}`));
      });
      input.write(`${JSON.stringify(message)}\0`);
    });
  }

  cleanup(async () => {
    session = undefined;
    send("Browser.close").catch(() => {});
    const force = setTimeout(() => child.kill("SIGKILL"), 5_000);
    await ended;
    clearTimeout(force);
  });

  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  session = (await send("Target.attachToTarget", { targetId, flatten: true })).sessionId as string;
  for (const domain of ["Page", "Runtime", "Log", "Network"]) await send(`${domain}.enable`);

  return {
    async open(url) {
      const done = new Promise<void>((resolve) => {
        loaded = resolve;
      });
      await send("Page.navigate", { url });
      await done;
    },
    async evaluate<T>(expression: string): Promise<T> {
      const reply = await send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
      if (reply.exceptionDetails !== undefined) throw new Error(JSON.stringify(reply.exceptionDetails));
      return (reply.result as { value: T }).value;
    },
    complaints: () => complaints,
    requests: () => requests,
    async setDark(isDark) {
      const features = [{ name: "prefers-color-scheme", value: isDark ? "dark" : "light" }];
      await send("Emulation.setEmulatedMedia", { features });
    },
    async setSize(width, height) {
      await send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
    },
    async press(key) {
      const text = key === "Enter" ? { text: "\r" } : {};
      const code = { Tab: 9, Enter: 13, Escape: 27 }[key] ?? 0;
      const common = { key, code: key, windowsVirtualKeyCode: code };
      await send("Input.dispatchKeyEvent", { type: "keyDown", ...common, ...text });
      await send("Input.dispatchKeyEvent", { type: "keyUp", ...common });
    },
    async screenshot() {
      const { data } = await send("Page.captureScreenshot", { format: "png" });
      return Buffer.from(data as string, "base64");
    },
  };
}
