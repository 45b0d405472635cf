import { createSocket } from "node:dgram";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { afterAllTests } from "./cleanup.js";
import { askRaw } from "./dns-client.js";
import { parseLogLine } from "./livezone.js";
import { freePort } from "./ports.js";
import { startProcess } from "./processes.js";
import { findProgram } from "./programs.js";
import { temporaryFolder } from "./temp.js";
import { waitUntil } from "./wait.js";

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("what a test leaves behind", () => {
  let folder = "";
  let pid = 0;

  it("is a folder that only we can enter, and a process", async () => {
    folder = temporaryFolder();
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    const running = await startProcess(process.execPath, ["-e", "console.log('up'); setInterval(() => {}, 1000)"], {
      readyWhen: /^up$/,
    });
    pid = running.pid;
    expect(isRunning(pid)).toBe(true);
  });

  it("is gone in the next test", () => {
    expect([existsSync(folder), isRunning(pid)]).toEqual([false, false]);
  });

  describe("of a describe", () => {
    const cleanup = afterAllTests();
    it("is made in one test", () => {
      folder = temporaryFolder(cleanup);
    });
    it("is there in the next", () => expect(existsSync(folder)).toBe(true));
  });

  it("is gone after a describe", () => expect(existsSync(folder)).toBe(false));
});

describe("startProcess", () => {
  it("keeps both streams apart, reports lines, and tells how it ended", async () => {
    const lines: string[] = [];
    const script = "console.log('out'); console.error('err'); process.exitCode = Number(process.env.CODE)";
    const running = await startProcess(process.execPath, ["-e", script], {
      env: { CODE: "7" },
      onLine: (line, stream) => lines.push(`${stream} ${line}`),
    });
    expect(await running.ended).toEqual({ code: 7, signal: null });
    expect([running.stdout(), running.stderr(), lines.sort()]).toEqual([
      "out\n",
      "err\n",
      ["stderr err", "stdout out"],
    ]);
    running.signal("SIGKILL");
  });

  it("says what could not be started", async () => {
    await expect(startProcess("/nonexistent/program", [])).rejects.toThrow("ENOENT");
  });

  it("gives up on a process that is not ready in time", async () => {
    const never = startProcess(process.execPath, ["-e", "console.log('hm'); setInterval(() => {}, 1000)"], {
      readyWhen: () => false,
      readyWithinMs: 500,
    });
    await expect(never).rejects.toThrow("in vain");
  });
});

describe("waitUntil", () => {
  it("returns what it found, after misses and errors", async () => {
    const looks = [() => undefined, () => Promise.reject(new Error("not yet")), () => "found"];
    expect(await waitUntil(() => looks.shift()?.(), { everyMs: 1 })).toBe("found");
  });

  it("says what it waited for, what there was, and the last error", async () => {
    let looks = 0;
    const look = () => {
      looks++;
      throw new Error("closed");
    };
    const wait = waitUntil(look, { timeoutMs: 20, everyMs: 1, describe: () => `a door, tried ${looks > 0}` });
    await expect(wait).rejects.toMatchObject({
      message: "waited 20 ms in vain for a door, tried true",
      cause: { message: "closed" },
    });
  });
});

describe("freePort", () => {
  it("is free for UDP and TCP on all addresses, outside the range of client sockets", async () => {
    const addresses = ["127.0.0.1", "127.0.0.9"];
    const port = await freePort(...addresses);
    expect(port).toBeGreaterThanOrEqual(20_000);
    expect(port).toBeLessThan(32_768);
    for (const address of addresses) {
      const server = createServer().listen(port, address);
      const socket = createSocket("udp4").bind(port, address);
      onTestFinished(() => {
        server.close();
        socket.close();
      });
      await Promise.all([once(server, "listening"), once(socket, "listening")]);
    }
  });
});

describe("findProgram", () => {
  it("finds what is installed only", () => {
    expect(findProgram("sh")).toMatch(/\/sh$/);
    expect(findProgram("no-such-program-at-all")).toBeUndefined();
  });
});

describe("parseLogLine", () => {
  for (const [line, parsed] of [
    ['{"level":30,"msg":"ready"}', { level: 30, msg: "ready" }],
    ['{"level":30}', undefined],
    ["{not json", undefined],
    ["ready", undefined],
    ["null", undefined],
  ] as const) {
    it(`reads ${line}`, () => expect(parseLogLine(line)).toEqual(parsed));
  }
});

describe("askRaw", () => {
  it("tells silence from a closed port, over UDP and TCP", async () => {
    const port = await freePort();
    const bytes = Buffer.from("anything");
    for (const transport of ["udp", "tcp"] as const) {
      await expect(askRaw({ server: "127.0.0.1", port, bytes, transport })).rejects.toMatchObject({
        code: "ECONNREFUSED",
      });
    }
    const server = createServer().listen(port, "127.0.0.1");
    const socket = createSocket("udp4").bind(port, "127.0.0.1");
    onTestFinished(() => {
      server.close();
      socket.close();
    });
    await Promise.all([once(server, "listening"), once(socket, "listening")]);
    for (const transport of ["udp", "tcp"] as const) {
      expect(await askRaw({ server: "127.0.0.1", port, bytes, transport, timeoutMs: 50 })).toBeUndefined();
    }
  });

  it("reads a message that comes over TCP in pieces", async () => {
    const server = createServer(async (socket) => {
      await once(socket, "data");
      for (const piece of [[0], [5, 104], [101, 108, 108], [111, 9]]) {
        socket.write(Uint8Array.from(piece));
        await new Promise((resolve) => setImmediate(resolve));
      }
      socket.end();
    }).listen(0, "127.0.0.1");
    onTestFinished(() => {
      server.close();
    });
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no address");
    const reply = await askRaw({ server: "127.0.0.1", port: address.port, bytes: Buffer.alloc(2), transport: "tcp" });
    expect(reply?.toString()).toBe("hello");
  });
});
