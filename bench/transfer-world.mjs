/** What the benchmarks of transfers share: livezone with its zones, Knot as a secondary, and how both are asked. */
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { ask } from "../dist/client/ask.js";
import { startChild, until } from "./children.mjs";
import { knotSecondary } from "./knot-secondary.mjs";

export const PORTS = {
  livezone: 15_600,
  knot: 15_601,
  bind: 15_602,
  secondary: 15_603,
  dead: 15_604,
  unsigned: 15_605,
};
export const HOME = mkdtempSync(path.join(tmpdir(), "livezone-transfers-"));
export const ZONE = "k8s.example.test";
export const SECRET = Buffer.from("a secret of 32 octets, in base64");
export const KEY = SECRET.toString("base64");

/** What every process wrote. It stays, with everything else, if the benchmark fails. */
const LOGS = path.join(HOME, "logs");

process.on("exit", (code) => {
  if (code === 0) rmSync(HOME, { recursive: true, force: true });
  else console.log(`what each process wrote: ${LOGS}`);
});

/** A copy of the program: a build meanwhile must not change what is started again. */
const PROGRAM = copyOfProgram();

function copyOfProgram() {
  const root = path.resolve(import.meta.dirname, "..");
  const copy = path.join(HOME, "program");
  for (const name of ["dist", "package.json"])
    cpSync(path.join(root, name), path.join(copy, name), { recursive: true });
  for (const name of ["build", "node_modules"]) symlinkSync(path.join(root, name), path.join(copy, name));
  return path.join(copy, "dist/main.js");
}

export function write(folder, files) {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text, { mode: 0o600 });
  }
}

/** Keeps what a process writes in a file of this name. */
export function keepOutput(child, name) {
  mkdirSync(LOGS, { recursive: true });
  const file = path.join(LOGS, `${name}.log`);
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => appendFileSync(file, data));
  child.once("close", (code, signal) => appendFileSync(file, `[ended: ${code ?? signal}]\n`));
  return child;
}

/** The serial at a port; NaN if none came within half a second. */
export async function serialAt(port, zone = ZONE) {
  const reply = await ask({ server: { address: "127.0.0.1", port }, name: zone, type: "SOA", timeoutMs: 500 }).catch(
    () => undefined,
  );
  return Number(reply?.answers.find(({ type }) => type === "SOA")?.data.split(" ")[2]);
}

/** Starts livezone in a folder. @param core absent = any @param preload a module that Node loads first @param name of its log */
export async function startLivezone(folder, { core, preload, name = "livezone" } = {}) {
  const first = preload === undefined ? [] : ["--import", preload];
  const command = [process.execPath, ...first, PROGRAM, "serve", "--config", "livezone.yaml"];
  const [program, ...args] = core === undefined ? command : ["taskset", "-c", String(core), ...command];
  const child = keepOutput(startChild(program, args, folder), name);
  await until(`ready: ${name}`, () => child.output.includes('"msg":"ready"'));
  return child;
}

/** Starts Knot as a secondary of livezone. @param secret default: of the key; undefined: nothing is signed */
export function startKnot(folder, zones, { port, core, secret = KEY, log = "warning" }) {
  mkdirSync(folder, { recursive: true });
  const zoneOptions = "    zonefile-sync: -1\n";
  const conf = knotSecondary({ folder, port, primary: PORTS.livezone, secret, zones, zoneOptions, log });
  writeFileSync(path.join(folder, "knot.conf"), conf);
  const command = ["/usr/sbin/knotd", "-c", path.join(folder, "knot.conf")];
  const child =
    core === undefined
      ? startChild(command[0], command.slice(1), folder)
      : startChild("taskset", ["-c", String(core), ...command], folder);
  return keepOutput(child, path.basename(folder));
}

export const zoneText = (zone, records = "") => `zone: ${zone}
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
${records}endpoints:
  api: { port: 6443, targets: { cp1: 127.0.1.1, cp2: 127.0.1.2, cp3: 127.0.1.3 }, probe: { type: none } }
`;

export const mainText = (more = "") => `listen: ["127.0.0.1:${PORTS.livezone}"]
stateDir: state
admin: { socket: admin.sock }
transfer: { keys: { corp: { secretFile: corp.tsig } } }
zones: [zones/*.yaml]
${more}`;

/** Takes a target of an endpoint `api` out, or lets health decide again. */
export async function force(admin, zone, id, isUp) {
  const at = `/api/v1/endpoints/api.${zone}/targets/${id}`;
  const reply = isUp
    ? await admin.ask("POST", `${at}/unforce`, {})
    : await admin.ask("POST", `${at}/force`, { health: "down", force: true });
  if (reply.status >= 300) throw new Error(`${at}: ${reply.status}`);
}
