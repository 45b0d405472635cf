import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import path from "node:path";
import type { Cleanup } from "../support/cleanup.js";
import { LIVEZONE_MAIN } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { type RunningProcess, startProcess } from "../support/processes.js";
import { temporaryFolder } from "../support/temp.js";
import { waitUntil } from "../support/wait.js";

const ENDPOINT = "api.k8s.example.test";
const TARGETS = ["cp1", "cp2", "cp3", "cp4"];

/** A server is killed within this time of the first command, milliseconds: a few dozen commands fit. */
const KILL_WITHIN_MS = 60;

/** A start takes half a second, and much longer on a machine that has many other things to do. Milliseconds. */
const START_WITHIN_MS = 60_000;

/** What came of it. */
export interface Killing {
  readonly kills: number;
  /** Commands that were acknowledged. */
  readonly acknowledged: number;
  /** Kills that came while a command was under way. */
  readonly interrupted: number;
  /** Overrides that were lost or invented, and starts that failed. */
  readonly violations: readonly string[];
}

type Override = "drained" | "forced-up" | "forced-down" | undefined;

/** A command, and what the override of its target is afterwards. */
interface Command {
  readonly target: string;
  readonly action: string;
  readonly body: object;
  readonly leads: Override;
}

/**
 * Lets a server change overrides as fast as it can, kills it (SIGKILL) at a random moment, starts it again on the same
 * state folder, and compares, `rounds` times over. Every override must be what was acknowledged last, or what the one
 * command that was under way asked for.
 */
export async function killAtRandom(rounds: number, random: () => number, cleanup: Cleanup): Promise<Killing> {
  const folder = temporaryFolder(cleanup);
  const socketPath = path.join(folder, "admin.sock");
  mkdirSync(path.join(folder, "zones"));
  mkdirSync(path.join(folder, "state"));
  const listen = `127.0.0.1:${await freePort()}`;
  writeFileSync(
    path.join(folder, "livezone.yaml"),
    `listen: "${listen}"\nadmin: { socket: admin.sock }\nstateDir: state\nzones: [zones/*.yaml]\n`,
  );
  writeFileSync(
    path.join(folder, "zones", "k8s.yaml"),
    `zone: k8s.example.test
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
endpoints:
  api:
    targets: { ${TARGETS.map((id, index) => `${id}: 127.0.0.${index + 11}`).join(", ")} }
    probe: { type: none }
`,
  );
  const violations: string[] = [];
  let acknowledged = 0;
  let interrupted = 0;
  const expected = new Map<string, Override>();
  let underWay: Command | undefined;

  for (let round = 0; round <= rounds; round += 1) {
    const server = await start(folder, cleanup);
    const found = await overrides(socketPath);
    for (const target of TARGETS) {
      const is = found.get(target);
      const mayBe = [expected.get(target), ...(underWay?.target === target ? [underWay.leads] : [])];
      if (!mayBe.includes(is)) violations.push(`round ${round}: ${target} is ${is}, expected ${mayBe.join(" or ")}`);
      expected.set(target, is);
    }
    underWay = undefined;
    const broken = readdirSync(path.join(folder, "state")).filter((name) => name.includes(".broken-"));
    if (broken.length > 0) violations.push(`round ${round}: ${broken.join(", ")} was set aside`);
    if (round === rounds) {
      await server.stop();
      break;
    }
    let isKilled = false;
    const killer = setTimeout(() => {
      isKilled = true;
      server.signal("SIGKILL");
    }, random() * KILL_WITHIN_MS);
    while (!isKilled) {
      underWay = randomCommand(random, expected);
      const status = await send(socketPath, underWay).catch(() => undefined);
      if (status === undefined) break;
      if (status === 200) {
        expected.set(underWay.target, underWay.leads);
        acknowledged += 1;
      }
      underWay = undefined;
    }
    if (underWay !== undefined) interrupted += 1;
    await server.ended;
    clearTimeout(killer);
  }
  return { kills: rounds, acknowledged, interrupted, violations };
}

async function start(folder: string, cleanup: Cleanup): Promise<RunningProcess> {
  const args = [LIVEZONE_MAIN, "serve", "--config", "livezone.yaml"];
  const options = { cwd: folder, cleanup, readyWhen: /"msg":"ready"/, readyWithinMs: START_WITHIN_MS };
  return startProcess(process.execPath, args, options);
}

function randomCommand(random: () => number, now: ReadonlyMap<string, Override>): Command {
  const target = TARGETS[Math.floor(random() * TARGETS.length)] ?? "";
  const current = now.get(target);
  const body = { reason: "x".repeat(Math.floor(random() * 100)), force: true };
  const commands: readonly Omit<Command, "target">[] = [
    { action: "drain", body, leads: "drained" },
    { action: "drain", body: { ...body, for: "1h" }, leads: "drained" },
    { action: "force", body: { ...body, health: "up" }, leads: "forced-up" },
    { action: "force", body: { ...body, health: "down" }, leads: "forced-down" },
    // Each ends only what it is for.
    { action: "undrain", body: {}, leads: current === "drained" ? undefined : current },
    { action: "unforce", body: {}, leads: current === "drained" ? current : undefined },
  ];
  const chosen = commands[Math.floor(random() * commands.length)] as Omit<Command, "target">;
  return { target, ...chosen };
}

function send(socketPath: string, { target, action, body }: Command): Promise<number> {
  return ask(socketPath, "POST", `/api/v1/endpoints/${ENDPOINT}/targets/${target}/${action}`, body).then(
    ({ status }) => status,
  );
}

async function overrides(socketPath: string): Promise<Map<string, Override>> {
  const { text } = await waitUntil(() => ask(socketPath, "GET", "/api/v1/status"));
  const { zones } = JSON.parse(text) as {
    zones: { endpoints: { targets: { id: string; override?: { kind: Override } }[] }[] }[];
  };
  const targets = zones[0]?.endpoints[0]?.targets ?? [];
  return new Map(targets.map(({ id, override }) => [id, override?.kind]));
}

function ask(
  socketPath: string,
  method: string,
  url: string,
  body?: object,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { "content-type": "application/json" };
    const outgoing = request({ socketPath, method, path: url, headers, agent: false }, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.on("error", reject);
      response.on("close", () => (response.complete ? resolve({ status: response.statusCode ?? 0, text }) : reject()));
    });
    outgoing.on("error", reject);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
