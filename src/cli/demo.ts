import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { type App, startApp } from "../app.js";
import { parseListenAddress } from "../config/address.js";
import { type Apiserver, type ApiserverOptions, startApiserver } from "../demo/apiserver-process.js";
import { createAuthority } from "../demo/certificates.js";
import { DEMO_ENDPOINT, DEMO_TARGETS, prepareDemo } from "../demo/setup.js";
import { UserError } from "../lib/errors.js";
import { createLogger } from "../lib/logger.js";
import { createEnding, DemoSession } from "./demo-session.js";
import { type CommandContext, EXIT } from "./exit.js";

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
    await new DemoSession({
      app,
      apiservers,
      isTerminal,
      ...(adminSocket === undefined ? {} : { adminSocket }),
      ending,
    }).play();
    return EXIT.success;
  } finally {
    await app?.stop();
    await Promise.all(apiservers.map((apiserver) => apiserver.crash()));
    await rm(folder, { recursive: true, force: true });
  }
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
