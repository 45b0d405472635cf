import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { type App, startApp } from "../app.js";
import { ask } from "../client/ask.js";
import { parseListenAddress } from "../config/address.js";
import {
  type Apiserver,
  type ApiserverOptions,
  type ApiserverState,
  startApiserver,
} from "../demo/apiserver-process.js";
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
import { type DemoDeed, EMPTY_STORY, eventsSince, noteAnswer, noteDeed, type Story } from "../demo/timeline.js";
import { messageOf, UserError } from "../lib/errors.js";
import { formatAddress, type SocketAddress } from "../lib/listening.js";
import { createLogger } from "../lib/logger.js";
import { type CommandContext, EXIT } from "./exit.js";

/** Queries until the first answer is there, each with its own timeout; the demo goes on without it all the same. */
const FIRST_TRIES = 5;

/** How often the name is asked and the screen drawn, milliseconds: the precision of the times shown. */
const ASK_EVERY_MS = 50;

/** Octets of the path of a Unix socket that every system takes. */
const MAX_SOCKET_PATH = 100;

interface DemoOptions {
  readonly listen: string;
  readonly http: string;
  readonly apiserverPort: number;
}

/** `livezone demo`: the real server and three stand-in apiservers on loopback, to be broken at will. */
export function addDemo(program: Command, context: CommandContext): void {
  program
    .command("demo")
    .description("run everything on loopback, with three stand-in apiservers to crash, hang and revive")
    .option("--listen <address>", "where DNS is served", socketAddress, "127.0.0.1:5300")
    .option("--http <address>", "where the status page and metrics are served", socketAddress, "127.0.0.1:9853")
    .option("--apiserver-port <port>", "port of the stand-ins", portNumber, 16_443)
    .action(async (options: DemoOptions) => {
      context.exit(await demo(options));
    });
}

function socketAddress(text: string): string {
  const parsed = parseListenAddress(text);
  if ("value" in parsed) return text;
  throw new InvalidArgumentError(`${parsed.why.replace(/^./, (first) => first.toUpperCase())}. ${parsed.remedy}`);
}

function portNumber(text: string): number {
  const port = Number(text);
  if (/^[0-9]+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new InvalidArgumentError("That is not a port. Write a number from 1 to 65535.");
}

async function demo(options: DemoOptions): Promise<number> {
  // From the start, so that a demo that is ended early leaves nothing behind either.
  const ending = createEnding();
  const folder = await mkdtemp(join(tmpdir(), "livezone-demo-"));
  const apiservers: Apiserver[] = [];
  let app: App | undefined;
  try {
    const socket = join(folder, "admin.sock");
    const adminSocket = Buffer.byteLength(socket) <= MAX_SOCKET_PATH ? socket : undefined;
    const authority = await createAuthority();
    const certificate = await authority.issue({ names: [DEMO_ENDPOINT] });
    const { configFile, apiserverPort } = await prepareDemo({
      folder,
      caPem: authority.caPem,
      listen: options.listen,
      adminHttp: options.http,
      ...(adminSocket === undefined ? {} : { adminSocket }),
      apiserverPort: options.apiserverPort,
    });
    for (const { address } of DEMO_TARGETS)
      apiservers.push(await startStandIn({ address, port: apiserverPort, ...certificate }));
    const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
    app = await startApp({ file: configFile, log: createLogger({ level: isTerminal ? "silent" : "info" }) });
    await Promise.race([app.ready, ending.begun]);
    await play(app, apiservers, isTerminal, adminSocket, ending);
    return EXIT.success;
  } finally {
    await app?.stop();
    await Promise.all(apiservers.map((apiserver) => apiserver.crash()));
    await rm(folder, { recursive: true, force: true });
  }
}

/** How the demo comes to its end: by a key, a signal, or because nobody can see it any more. */
interface Ending {
  readonly begun: Promise<void>;
  begin(): void;
}

function createEnding(): Ending {
  let begin: () => void = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, begin);
  process.stdout.on("error", begin);
  return { begun, begin };
}

async function startStandIn(options: ApiserverOptions): Promise<Apiserver> {
  try {
    return await startApiserver(options);
  } catch (error) {
    if (!(error instanceof UserError) || error.code !== "APISERVER_ADDRESS_IN_USE") throw error;
    const remedy = "is another demo running? End it, or choose another port with --apiserver-port PORT";
    throw new UserError(`${error.message}; ${remedy}`, error.code, { cause: error });
  }
}

/** What a deed makes of a stand-in. */
const OUTCOMES: Readonly<Record<DemoDeed, ApiserverState>> = {
  crash: "crashed",
  hang: "hung",
  unready: "unready",
  revive: "running",
};

const KEYS_EXPLAINED =
  "c: it is gone. h: it does not answer. u: it says it is not ready. r: it works again. Tab: next.";

function isDeed(action: DemoAction): action is { readonly kind: DemoDeed } {
  return Object.hasOwn(OUTCOMES, action.kind);
}

/** Asks, draws and obeys until told to stop. */
async function play(
  app: App,
  apiservers: readonly Apiserver[],
  isTerminal: boolean,
  adminSocket: string | undefined,
  { begun, begin }: Ending,
): Promise<void> {
  const server = app.listen[0] as SocketAddress;
  let story: Story = EMPTY_STORY;
  let answer: DemoAnswer | undefined;
  let selected = 0;
  let hint: string | undefined;
  const http = app.http === undefined ? undefined : `http://${formatAddress(app.http)}`;
  // By the socket everything may be done, by HTTP only looked at.
  const place = adminSocket ?? http;
  const command = place === undefined ? undefined : `livezone status --admin ${place}`;

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
        ...(http === undefined ? {} : { statusUrl: `${http}/` }),
        ...(command === undefined ? {} : { command }),
        ...(hint === undefined ? {} : { hint }),
        nowMs: Date.now(),
        targets: targets(),
        selected,
        ...(answer === undefined ? {} : { answer }),
        failOpen: app.answerable(DEMO_ENDPOINT)?.mode === "fail-open",
        events: story.events,
      },
      { width: process.stdout.columns, height: process.stdout.rows, colour: process.env.NO_COLOR === undefined },
    );
    process.stdout.write(paint(screen));
  };
  /** Why a target left the answers: what an operator said of it, else what its last probe found. */
  const reasonOf = (id: string): string | undefined => {
    const found = app
      .snapshot()
      .endpoints.get(DEMO_ENDPOINT)
      ?.targets.find((target) => target.id === id);
    return found?.override?.kind ?? found?.addresses[0]?.last?.reason;
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
      reasonOf,
    });
    if (!isTerminal) for (const event of eventsSince(before, story)) process.stdout.write(`${renderEvent(event)}\n`);
  };
  const act = async (action: DemoAction): Promise<void> => {
    if (action.kind === "quit") return begin();
    selected = selectedAfter(selected, action, DEMO_TARGETS.length);
    const apiserver = apiservers[selected];
    const target = DEMO_TARGETS[selected];
    hint = undefined;
    if (action.kind === "help") hint = KEYS_EXPLAINED;
    else if (action.kind === "unknown") hint = "That key does nothing here; ? says what the others do.";
    if (apiserver === undefined || target === undefined || !isDeed(action)) return;
    if (apiserver.state === OUTCOMES[action.kind]) {
      hint = `${target.id} is ${apiserver.state} already.`;
      return;
    }
    story = noteDeed(story, target.id, action.kind, Date.now());
    if (action.kind === "crash") await apiserver.crash();
    else if (action.kind === "hang") apiserver.hang();
    else if (action.kind === "revive") await apiserver.revive();
    else await apiserver.setReady(false);
  };

  // Changes are told against the first answer, so that comes before anybody is asked to look. A thread that is not ready yet
  // is silent.
  for (let tries = 0; story.answered === undefined && tries < FIRST_TRIES; tries += 1) {
    await Promise.race([look(), begun.then(() => (tries = FIRST_TRIES))]);
  }
  if (isTerminal) process.stdout.write(ENTER_SCREEN);
  else {
    process.stdout.write(`livezone demo: try  dig @${server.address} -p ${server.port} ${DEMO_ENDPOINT}\n`);
    if (command !== undefined) process.stdout.write(`livezone demo: or   ${command}\n`);
    if (http !== undefined) process.stdout.write(`livezone demo: or look at ${http}/\n`);
  }
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
  await begun;
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
