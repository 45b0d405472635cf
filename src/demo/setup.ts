import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseDocument } from "yaml";
import { installed } from "../lib/installation.js";

/** The name that the demo's zone answers for: what a cluster would have as `controlPlaneEndpoint`. */
export const DEMO_ENDPOINT = "api.k8s.example.test";

/** The stand-in apiservers, all on one port. They agree with `zones/demo/`, which a test checks. */
export const DEMO_TARGETS = [
  { id: "cp1", address: "127.0.0.11" },
  { id: "cp2", address: "127.0.0.12" },
  { id: "cp3", address: "127.0.0.13" },
] as const;

/** Where the demo is set up and what differs from `zones/demo/`. */
export interface DemoSetup {
  /** Made if it is not there; only the user can enter it afterwards (mode 0700). */
  readonly folder: string;
  /** The authority that signs the stand-ins' certificates, PEM. */
  readonly caPem: string;
  /** `address:port` for UDP and TCP. Default `127.0.0.1:5300`. */
  readonly listen?: string;
  /** `address:port` of the status page and metrics. Default `127.0.0.1:9853`. */
  readonly adminHttp?: string;
  /** Path of the control socket, relative to `folder`. Default: none. */
  readonly adminSocket?: string;
  /** Port of the stand-in apiservers, 1 to 65 535. Default 16443. */
  readonly apiserverPort?: number;
}

/** What was set up. */
export interface PreparedDemo {
  /** The main file, to be given to `serve` as `--config`. */
  readonly configFile: string;
  /** Port of the stand-in apiservers. */
  readonly apiserverPort: number;
}

const TEMPLATES = installed("zones/demo/");
const MAIN_FILE = "livezone.yaml";
const ZONE_FILE = join("zones", "k8s.example.test.yaml");

/** Port in `zones/demo/zones/k8s.example.test.yaml`. */
const DEFAULT_APISERVER_PORT = 16_443;

/**
 * Writes the demo's configuration into a folder: the files of `zones/demo/`, comments and all, with the differences
 * asked for, and `ca.crt`. How the demo is put together from this and its neighbours:
 *
 * ```ts
 * const authority = await createAuthority();
 * const certificate = await authority.issue({ names: [DEMO_ENDPOINT] });
 * const { configFile, apiserverPort } = await prepareDemo({ folder, caPem: authority.caPem });
 * const apiservers = await Promise.all(
 *   DEMO_TARGETS.map(({ address }) => startApiserver({ address, port: apiserverPort, ...certificate })),
 * );
 * // ... the real server with configFile; then for each key:
 * const stopReading = readKeys(process.stdin, (action) => ...);
 * // ... and several times a second, with what a real DNS query was answered:
 * story = noteAnswer(story, { targets, failOpen, nowMs: Date.now() });
 * process.stdout.write(paint(renderScreen({ ...state, events: story.events }, { width, colour })));
 * ```
 */
export async function prepareDemo(setup: DemoSetup): Promise<PreparedDemo> {
  const { folder, caPem, listen, adminHttp, adminSocket, apiserverPort = DEFAULT_APISERVER_PORT } = setup;
  await mkdir(join(folder, "zones"), { recursive: true });
  await chmod(folder, 0o700);

  await copyYaml(folder, MAIN_FILE, [
    [["listen"], listen === undefined ? undefined : [listen]],
    [["admin", "http"], adminHttp],
    [["admin", "socket"], adminSocket],
  ]);
  await copyYaml(folder, ZONE_FILE, [[["endpoints", "api", "port"], setup.apiserverPort]]);
  await writeFile(join(folder, "ca.crt"), caPem);
  return { configFile: join(folder, MAIN_FILE), apiserverPort };
}

type Change = readonly [path: readonly string[], value: unknown];

/** Copies a template; without changes, byte by byte. An undefined value changes nothing. */
async function copyYaml(folder: string, file: string, changes: readonly Change[]): Promise<void> {
  let text = await readFile(join(TEMPLATES, file), "utf8");
  const real = changes.filter(([, value]) => value !== undefined);
  if (real.length > 0) {
    const document = parseDocument(text);
    for (const [path, value] of real) document.setIn(path, value);
    text = document.toString({ lineWidth: 0 });
  }
  await writeFile(join(folder, file), text);
}
