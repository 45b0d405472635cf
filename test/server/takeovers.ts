import { createSocket } from "node:dgram";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eventSchema, type Status, statusSchema } from "../../src/admin/schemas.js";
import { askAt, targetRoute } from "../admin/server.js";
import type { Cleanup } from "../support/cleanup.js";
import { encodeQuery } from "../support/dns-message.js";
import { LIVEZONE_MAIN, type RunningLivezone, startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { type RunningProcess, startProcess } from "../support/processes.js";
import { temporaryFolder } from "../support/temp.js";
import { waitUntil } from "../support/wait.js";

const ENDPOINT = "api.k8s.example.test";

/** What came of many takeovers in a row. */
export interface TakeoversSeen {
  readonly sent: number;
  /** Queries that were never answered. */
  readonly lost: number;
  /** What was not as it should be, a sentence each. */
  readonly violations: readonly string[];
  /** Of the server after each round. */
  readonly descriptors: readonly number[];
  readonly residentKb: readonly number[];
}

/** Has one server after another take over, under load, with readers of events and a drain that is waited for. */
export async function takeOverInARow(rounds: number, cleanup: Cleanup): Promise<TakeoversSeen> {
  const violations: string[] = [];
  const place = await makePlace(cleanup);
  let running = await startLivezone({ files: place.files, cleanup });
  const load = startLoad(place.dns);
  const page = readEvents(place.http, cleanup);
  const watch = await watchStatus(place.socket, cleanup);
  const descriptors: number[] = [];
  const residentKb: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const waiting = await startDrain(place.socket, round, cleanup);
    const successor = await startLivezone({ files: place.files, args: ["--takeover"], cleanup });
    if (successor.logs("took the port over").length !== 1) violations.push(`round ${round}: nothing was taken over`);
    const { code } = await running.ended;
    if (code !== 0) violations.push(`round ${round}: the server before ended with ${code}`);
    running = successor;
    const drained = await waiting.ended;
    if (drained.code !== 0)
      violations.push(`round ${round}: the drain ended with ${drained.code}: ${waiting.stderr()}`);
    const author = `round-${round}`;
    await askAt({ socketPath: place.socket }, "POST", targetRoute("cp2", "undrain"), { body: { author } });
    await expectSeen(violations, `round ${round}: the page got no event`, () => page.authors.has(author));
    await expectSeen(violations, `round ${round}: status --watch got no change`, () =>
      watch.shows(drainsNobody, successor),
    );
    descriptors.push(readdirSync(`/proc/${running.pid}/fd`).length);
    residentKb.push(residentOf(running.pid));
    for (const { msg } of running.logs().filter(({ level }) => level === "error")) violations.push(`${author}: ${msg}`);
  }
  page.stop();
  watch.process.signal("SIGINT");
  const { code } = await watch.process.ended;
  if (code !== 0) violations.push(`status --watch ended with ${code}: ${watch.process.stderr()}`);
  return { ...(await load.stop()), violations, descriptors, residentKb };
}

async function makePlace(cleanup: Cleanup) {
  const [dns, http] = [await freePort(), await freePort()];
  const folder = temporaryFolder(cleanup);
  const socket = join(folder, "admin.sock");
  const files = {
    "livezone.yaml": `listen: ["127.0.0.1:${dns}"]
admin: { socket: ${socket}, http: "127.0.0.1:${http}" }
stateDir: ${join(folder, "state")}
zones: [zones/*.yaml]
`,
    "zones/k8s.yaml": `zone: k8s.example.test
nameservers: { ns1: 192.0.2.53 }
endpoints:
  api:
    ttl: 1
    targets: { cp1: 192.0.2.11, cp2: 192.0.2.12, cp3: 192.0.2.13 }
    probe: { type: none }
`,
  };
  return { dns, http, socket, files };
}

/** Waits for what readers must see; what they do not is a violation. */
async function expectSeen(violations: string[], violation: string, condition: () => boolean): Promise<void> {
  await waitUntil(condition, { timeoutMs: 15_000 }).catch(() => violations.push(violation));
}

/** Drains `cp2` with `--wait`; resolves once it is drained, which is before it can be stopped. */
function startDrain(socket: string, round: number, cleanup: Cleanup): Promise<RunningProcess> {
  const args = ["drain", ENDPOINT, "cp2", "--wait", "--reason", `round ${round}`, "--admin", socket];
  return startProcess(process.execPath, [LIVEZONE_MAIN, ...args], { readyWhen: /is drained/, cleanup });
}

function drainsNobody(status: Status): boolean {
  const targets = status.zones.flatMap(({ endpoints }) => endpoints.flatMap((endpoint) => endpoint.targets));
  return targets.every(({ override }) => override === undefined);
}

async function watchStatus(socket: string, cleanup: Cleanup) {
  const lines: string[] = [];
  const args = ["status", "--watch", "--json", "--admin", socket];
  const running = await startProcess(process.execPath, [LIVEZONE_MAIN, ...args], {
    onLine: (line, stream) => void (stream === "stdout" && lines.push(line)),
    readyWhen: () => lines.length > 0,
    cleanup,
  });
  return {
    process: running,
    /** Whether the newest picture is of this server, and as wanted. */
    shows(isWanted: (status: Status) => boolean, server: RunningLivezone): boolean {
      const status = statusSchema.parse(JSON.parse(lines.at(-1) ?? "{}"));
      const startedMs = Date.parse(String(server.logs("server started")[0]?.time));
      // The moment is taken some milliseconds before the line is written.
      return status.startedMs > startedMs - 1_000 && isWanted(status);
    },
  };
}

/** Reads events by HTTP as the status page does: connects again when the stream ends. */
function readEvents(port: number, cleanup: Cleanup): { readonly authors: ReadonlySet<string>; stop(): void } {
  const authors = new Set<string>();
  const ending = new AbortController();
  cleanup(() => ending.abort());
  void (async () => {
    while (!ending.signal.aborted) {
      try {
        const { body } = await fetch(`http://127.0.0.1:${port}/api/v1/events`, { signal: ending.signal });
        let rest = "";
        for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
          const lines = `${rest}${chunk}`.split("\n");
          rest = lines.pop() ?? "";
          for (const line of lines) if (line.startsWith('data: {"')) note(line.slice(6));
        }
      } catch {
        // Nobody listens for the moment.
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  function note(data: string): void {
    const event = eventSchema.parse(JSON.parse(data));
    if (event.type === "override" && event.author !== undefined) authors.add(event.author);
  }
  return { authors, stop: () => ending.abort() };
}

/** Asks all the time, 32 questions under way, until it is stopped. */
function startLoad(port: number): { stop(): Promise<{ readonly sent: number; readonly lost: number }> } {
  const query = encodeQuery({ name: ENDPOINT, type: "A" });
  const sockets = Array.from({ length: 16 }, () => createSocket("udp4"));
  let sent = 0;
  let answered = 0;
  let isStopped = false;
  for (const socket of sockets) {
    const next = (): void => {
      if (isStopped) return;
      sent += 1;
      socket.send(query);
    };
    socket.on("message", () => {
      answered += 1;
      // Leaves the processor to the servers that start.
      setTimeout(next, 2);
    });
    socket.connect(port, "127.0.0.1", () => {
      next();
      next();
    });
  }
  return {
    async stop() {
      isStopped = true;
      await waitUntil(() => answered === sent, { timeoutMs: 3_000 }).catch(() => undefined);
      for (const socket of sockets) socket.close();
      return { sent, lost: sent - answered };
    },
  };
}

function residentOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
}
