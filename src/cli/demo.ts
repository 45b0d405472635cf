import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { type App, startApp } from "../app.js";
import { ask } from "../client/ask.js";
import { type Apiserver, startApiserver } from "../demo/apiserver-process.js";
import { createAuthority } from "../demo/certificates.js";
import { type DemoAction, readKeys, selectedAfter } from "../demo/keys.js";
import {
  type DemoAnswer,
  type DemoTarget,
  ENTER_SCREEN,
  LEAVE_SCREEN,
  paint,
  renderEvent,
  renderScreen,
} from "../demo/screen.js";
import { DEMO_ENDPOINT, DEMO_TARGETS, prepareDemo } from "../demo/setup.js";
import { EMPTY_STORY, eventsSince, noteAnswer, noteDeed, type Story } from "../demo/story.js";
import { messageOf } from "../lib/errors.js";
import { formatAddress, type SocketAddress } from "../lib/listening.js";
import { createLogger } from "../lib/logger.js";
import { type CommandContext, EXIT } from "./program.js";

/** How often the name is asked and the screen drawn, milliseconds: the precision of the times shown. */
const ASK_EVERY_MS = 50;

interface DemoOptions {
  readonly listen: string;
  readonly http: string;
  readonly apiserverPort: string;
}

/** `livezone demo`: the real server and three stand-in apiservers on loopback, to be broken at will. */
export function addDemo(program: Command, context: CommandContext): void {
  program
    .command("demo")
    .description("run everything on loopback, with three stand-in apiservers to crash, hang and revive")
    .option("--listen <address>", "where DNS is served", "127.0.0.1:5300")
    .option("--http <address>", "where metrics are served", "127.0.0.1:9853")
    .option("--apiserver-port <port>", "port of the stand-ins", "16443")
    .action(async (options: DemoOptions) => {
      context.exit(await demo(options));
    });
}

async function demo(options: DemoOptions): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "livezone-demo-"));
  const apiservers: Apiserver[] = [];
  let app: App | undefined;
  try {
    const authority = await createAuthority();
    const certificate = await authority.issue({ names: [DEMO_ENDPOINT] });
    const { configFile, apiserverPort } = await prepareDemo({
      folder,
      caPem: authority.caPem,
      listen: options.listen,
      adminHttp: options.http,
      apiserverPort: Number(options.apiserverPort),
    });
    for (const { address } of DEMO_TARGETS)
      apiservers.push(await startApiserver({ address, port: apiserverPort, ...certificate }));
    const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
    app = await startApp({ file: configFile, log: createLogger({ level: isTerminal ? "silent" : "info" }) });
    await app.ready;
    await play(app, apiservers, isTerminal);
    return EXIT.success;
  } finally {
    await app?.stop();
    await Promise.all(apiservers.map((apiserver) => apiserver.crash()));
    await rm(folder, { recursive: true, force: true });
  }
}

/** Asks, draws and obeys until told to stop. */
async function play(app: App, apiservers: readonly Apiserver[], isTerminal: boolean): Promise<void> {
  const server = app.listen[0] as SocketAddress;
  let story: Story = EMPTY_STORY;
  let answer: DemoAnswer | undefined;
  let selected = 0;
  let finish: () => void = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, finish);

  const targets = (): DemoTarget[] => {
    const health = app.snapshot().endpoints.get(DEMO_ENDPOINT)?.targets ?? [];
    return DEMO_TARGETS.map(({ id, address }, index) => {
      const found = health.find((target) => target.id === id)?.addresses[0];
      return {
        id,
        address,
        health: found?.health ?? "unknown",
        sinceMs: found?.sinceMs ?? Date.now(),
        apiserver: apiservers[index]?.state ?? "stopped",
        ...(found?.last === undefined ? {} : { reason: found.last.reason }),
      };
    });
  };
  const draw = (): void => {
    if (!isTerminal) return;
    const screen = renderScreen(
      {
        name: DEMO_ENDPOINT,
        ...server,
        ...(app.http === undefined ? {} : { statusUrl: `http://${formatAddress(app.http)}/metrics` }),
        nowMs: Date.now(),
        targets: targets(),
        selected,
        ...(answer === undefined ? {} : { answer }),
        failOpen: app.answerable(DEMO_ENDPOINT)?.mode === "fail-open",
        events: story.events,
      },
      { width: process.stdout.columns, colour: process.env.NO_COLOR === undefined },
    );
    process.stdout.write(paint(screen));
  };
  const look = async (): Promise<void> => {
    answer = await askNow(server);
    if (answer.kind !== "addresses") return;
    const { addresses } = answer;
    const answered = new Set(DEMO_TARGETS.filter(({ address }) => addresses.includes(address)).map(({ id }) => id));
    const before = story;
    story = noteAnswer(story, {
      targets: answered,
      failOpen: app.answerable(DEMO_ENDPOINT)?.mode === "fail-open",
      nowMs: Date.now(),
      reasonOf: (id) => targets().find((target) => target.id === id)?.reason,
    });
    if (!isTerminal) for (const event of eventsSince(before, story)) process.stdout.write(`${renderEvent(event)}\n`);
  };
  const act = async (action: DemoAction): Promise<void> => {
    if (action.kind === "quit") return finish();
    selected = selectedAfter(selected, action, DEMO_TARGETS.length);
    const apiserver = apiservers[selected];
    const target = DEMO_TARGETS[selected];
    if (apiserver === undefined || target === undefined || action.kind === "select" || action.kind === "move") return;
    story = noteDeed(story, target.id, action.kind, Date.now());
    if (action.kind === "crash") await apiserver.crash();
    else if (action.kind === "hang") apiserver.hang();
    else if (action.kind === "revive") await apiserver.revive();
    else await apiserver.setReady(false);
  };

  if (isTerminal) process.stdout.write(ENTER_SCREEN);
  else process.stdout.write(`livezone demo: try  dig @${server.address} -p ${server.port} ${DEMO_ENDPOINT}\n`);
  const stopReading = readKeys(process.stdin, (action) => {
    // One that cannot be carried out (hung, its port taken meanwhile) changes nothing; the table shows what is.
    act(action)
      .catch(() => {})
      .then(draw);
  });
  let running = true;
  const loop = (async () => {
    while (running) {
      await look();
      draw();
      await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    }
  })();
  await finished;
  running = false;
  await loop;
  stopReading();
  if (isTerminal) process.stdout.write(LEAVE_SCREEN);
}

async function askNow(server: SocketAddress): Promise<DemoAnswer> {
  const startedMs = performance.now();
  try {
    const reply = await ask({ server, name: DEMO_ENDPOINT, type: "A" });
    const addresses = reply.answers.flatMap((record) =>
      "address" in record && typeof record.address === "string" ? [record.address] : [],
    );
    return {
      kind: "addresses",
      addresses: addresses.sort(),
      ttl: reply.answers[0]?.ttl ?? 0,
      tookMs: performance.now() - startedMs,
    };
  } catch (error) {
    return { kind: "none", why: messageOf(error) };
  }
}
