/**
 * The servers that are compared: how each is told to serve the same name with the same three addresses, with one
 * worker thread, on one port of loopback, without limits.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";

/** Folder of this build. */
const HERE = fileURLToPath(new URL("..", import.meta.url));

/** How the tests run other servers: TypeScript, which Node.js 20 does not read by itself. */
const { module: recipes } = await runnerImport(join(HERE, "test/support/recipes.ts"));

/** The zone, the name in it, and its addresses: loopback, because gdnsd probes them. */
export const ZONE = "bench.example";
export const NAME = `api.${ZONE}`;
export const ADDRESSES = ["127.0.0.11", "127.0.0.12", "127.0.0.13"];
const TTL = 5;

/** Name of zone `i` of those that are only there to be many. */
const otherZone = (i) => `z${i}.bench-other.example`;

const zoneFile = (origin) => `$TTL ${TTL}
$ORIGIN ${origin}.
@ IN SOA ns1 hostmaster 1 7200 900 1209600 ${TTL}
@ IN NS ns1
ns1 IN A 127.0.0.1
${ADDRESSES.map((address) => `api IN A ${address}\n`).join("")}`;

/** `zones` zones: the one that is asked, then others. */
export const zoneNames = (zones) => [ZONE, ...Array.from({ length: zones - 1 }, (_, i) => otherZone(i))];

function write(folder, files) {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

/** Path of an installed program; the folders of system daemons are looked at too. */
function find(program) {
  const path = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`;
  const { stdout } = spawnSync("sh", ["-c", `command -v ${program}`], { env: { PATH: path }, encoding: "utf8" });
  return stdout.trim() || undefined;
}

/** A file of the build that is measured: a driver imports from its own build, whose parts have names of their own. */
const fileOf = ({ build = HERE }, file) => join(build, file);

/** livezone's configuration; the path of its main file. */
export function writeLivezone({ folder, port, zones, options = "" }) {
  const zone = (name) => `zone: ${name}
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
soa: { negativeTtl: ${TTL} }
endpoints:
  api:
    port: 6443
    ttl: ${TTL}
    probe: { type: none }
    targets: { cp1: ${ADDRESSES[0]}, cp2: ${ADDRESSES[1]}, cp3: ${ADDRESSES[2]} }
`;
  write(folder, {
    "livezone.yaml": `listen: ["127.0.0.1:${port}"]\nworkers: 1\nlog: { level: warn }\nzones: ["zones/*.yaml"]\n${options}\n`,
    ...Object.fromEntries(zoneNames(zones).map((name) => [`zones/${name}.yaml`, zone(name)])),
  });
  return join(folder, "livezone.yaml");
}

/** A server of the tests' recipes, with the zones that all serve. */
function foreign(recipeOf) {
  const recipe = ({ zones }) =>
    recipeOf({ zones: Object.fromEntries(zoneNames(zones).map((name) => [name, zoneFile(name)])) });
  return {
    program: () => find(recipe({ zones: 1 }).program),
    prepare(context) {
      const place = { ...context, address: "127.0.0.1" };
      const { files, args } = recipe(context);
      write(context.folder, files(place));
      return args(place);
    },
  };
}

/**
 * Each server: `program` to look for, and `prepare`, which writes its files and gives its arguments.
 * `context`: { folder, port, zones, options, targetPort, echo, livezoneCommand, build, configFile }.
 * `build`: the folder of another build of livezone. `isLivezone`: is one. `isDriven`: has an IPC channel. `isTold`: reads its input.
 */
export const SERVERS = {
  echo: {
    program: (context) => context.echo,
    prepare: ({ port }) => [String(port), "127.0.0.1"],
  },
  /** The same with a second thread that changes what is answered. */
  changingEcho: {
    program: (context) => context.echo,
    isTold: true,
    prepare: ({ port }) => [String(port), "127.0.0.1", "changes"],
  },
  livezone: {
    isLivezone: true,
    program: () => process.execPath,
    prepare: (context) => [
      ...(context.livezoneCommand ?? [fileOf(context, "dist/main.js"), "serve"]),
      "--config",
      context.configFile ?? writeLivezone(context),
    ],
  },
  /** The same without the native part. */
  dgram: {
    isLivezone: true,
    program: () => process.execPath,
    isDriven: true,
    prepare: (context) => [fileOf(context, "bench/driver.mjs"), "--dgram", "--config", writeLivezone(context)],
  },
  /** The least that a program on Node's dgram can do. */
  dgramEcho: {
    program: () => process.execPath,
    prepare: ({ port }) => [join(import.meta.dirname, "dgram-echo.mjs"), String(port)],
  },
  /** The same under a driver that changes answers when it is told to. */
  driver: {
    isLivezone: true,
    program: () => process.execPath,
    isDriven: true,
    prepare: (context) => [fileOf(context, "bench/driver.mjs"), "--config", writeLivezone(context)],
  },
  /** The same, its TCP thread busy for 5 ms each, 200 times a second. */
  stalledDriver: {
    program: () => process.execPath,
    isDriven: true,
    isLivezone: true,
    prepare: (context) => [fileOf(context, "bench/driver.mjs"), "--stall", "--config", writeLivezone(context)],
  },
  gdnsd: {
    program: () => find("gdnsd"),
    prepare({ folder, port, zones, targetPort }) {
      const targets = ADDRESSES.map((address, i) => `cp${i} => ${address}`).join(", ");
      const dynamic = (origin) => zoneFile(origin).replace(/^api [\s\S]*/m, `api ${TTL} IN DYNA multifo!api\n`);
      write(folder, {
        "etc/config": `options => {
  listen => [ "127.0.0.1:${port}" ]
  udp_threads => 1
  tcp_threads => 1
  run_dir => "${folder}/run"
  state_dir => "${folder}/state"
}
service_types => { tcp => { plugin => tcp_connect, port => ${targetPort}, up_thresh => 1, ok_thresh => 1 } }
plugins => { multifo => { api => { service_types => tcp, ${targets} } } }
`,
        ...Object.fromEntries(zoneNames(zones).map((name) => [`etc/zones/${name}`, dynamic(name)])),
        "run/.keep": "",
        "state/.keep": "",
      });
      return ["-c", join(folder, "etc"), "start"];
    },
  },
  knot: foreign(({ zones }) => recipes.knotRecipe({ zones })),
  nsd: foreign(({ zones }) => recipes.nsdRecipe({ zones, minimalResponses: true, serverLines: ["round-robin: yes"] })),
  bind: foreign(({ zones }) =>
    recipes.bindRecipe({
      zones,
      optionLines: ["recursion no;", "minimal-responses yes;"],
      clauses: ["logging { category default { null; }; };"],
    }),
  ),
};

/** A process and all that descend from it. */
function familyOf(pid) {
  const family = [pid];
  for (const member of family) {
    let threads = [];
    try {
      threads = readdirSync(`/proc/${member}/task`);
    } catch {
      continue; // ended meanwhile
    }
    for (const thread of threads) {
      try {
        const children = readFileSync(`/proc/${member}/task/${thread}/children`, "utf8");
        family.push(...children.split(" ").filter(Boolean).map(Number));
      } catch {
        // ended meanwhile
      }
    }
  }
  return family;
}

/** Resident memory of a family of processes now, in megabytes; shared pages count once for each. */
export function residentMb(pids) {
  let totalKb = 0;
  for (const pid of pids) {
    try {
      totalKb += Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
    } catch {
      // ended meanwhile
    }
  }
  return totalKb / 1024;
}

/** CPU time that a family of processes took so far, of all their threads that still run, in seconds. */
export function cpuSeconds(pids) {
  let totalNs = 0;
  for (const pid of pids) {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      totalNs += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
    }
  }
  return totalNs / 1e9;
}

/**
 * Starts a server on a core and waits until it answers. Returns { name, port, pids, child, stop }, or undefined where it is
 * not installed.
 *
 * @param answers asked with the port until it says true
 */
export async function startServer(name, context, core, answers) {
  const { program, prepare, isDriven = false, isTold = false } = SERVERS[name];
  const path = program(context);
  if (!path) return undefined;
  mkdirSync(context.folder, { recursive: true });
  const args = prepare(context);
  const child = spawn("taskset", ["-c", String(core), path, ...args], {
    stdio: [isTold ? "pipe" : "ignore", "pipe", "pipe", ...(isDriven ? ["ipc"] : [])],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (text) => (output = (output + text).slice(-4000)));
  const ended = new Promise((resolve) => child.once("close", resolve));
  let over = false;
  void ended.then(() => (over = true));
  const stop = async () => {
    if (over) return;
    child.kill("SIGTERM");
    await Promise.race([ended, delay(5000, undefined, { ref: false })]);
    if (!over) child.kill("SIGKILL");
    await ended;
  };
  const deadline = Date.now() + 60_000;
  while (!(await answers(context.port))) {
    if (over || Date.now() > deadline) {
      await stop();
      throw new Error(`${name} did not answer on port ${context.port}:\n${output}`);
    }
    await delay(100);
  }
  return { name, port: context.port, pids: familyOf(child.pid), child, stop };
}
