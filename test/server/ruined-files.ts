import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createAuthority } from "../../src/demo/certificates.js";
import { askAt, ENDPOINT, TOKEN, targetRoute } from "../admin/server.js";
import { afterThisTest } from "../support/cleanup.js";
import { askForAddresses } from "../support/dns-client.js";
import { type RunningLivezone, startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { startProcess } from "../support/processes.js";
import { temporaryFolder } from "../support/temp.js";
import { waitUntil } from "../support/wait.js";

/** What happens to a file, by name. */
export const RUINS = {
  // A loop of links cannot be read by root either.
  unreadable(file) {
    rmSync(file, { recursive: true, force: true });
    symlinkSync(file, file);
  },
  empty: (file) => writeAnew(file, ""),
  garbage: (file) => writeAnew(file, randomBytes(3_000)),
  "a folder"(file) {
    rmSync(file, { recursive: true, force: true });
    mkdirSync(file);
  },
  "1 GiB"(file) {
    writeAnew(file, "");
    truncateSync(file, 1024 ** 3);
  },
} as const satisfies Readonly<Record<string, (file: string) => void>>;

export type Ruin = keyof typeof RUINS;

export const EVERY_RUIN = Object.keys(RUINS) as readonly Ruin[];

/** Files of the configuration: a start or a reload with one of them ruined is refused. */
export const CONFIGURED = [
  "livezone.yaml",
  "zones/k8s.yaml",
  "ca.crt",
  "client.crt",
  "client.key",
  "probe.token",
  "cookies",
  "tsig.key",
  "token",
] as const;

/** Those that probes read again when they change. */
export const PROBES_READ: ReadonlySet<string> = new Set(["ca.crt", "client.crt", "client.key", "probe.token"]);

/** Files that the server writes itself. */
export const STATE = ["overrides.json", "last.json"] as const;

/** Connections to an address whose server is stopped that are more than its kernel takes. */
const MORE_THAN_FIT = 40;

/** Puts a file where something else may be. */
export function writeAnew(file: string, content: string | Buffer): void {
  rmSync(file, { recursive: true, force: true });
  writeFileSync(file, content, { mode: 0o600 });
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** A server that reads one file of each kind, and the apiservers that it probes. */
export class Place {
  private constructor(
    readonly dns: number,
    readonly addresses: readonly string[],
    readonly control: string,
    readonly files: Readonly<Record<string, string>>,
    /** The folder of its state. */
    readonly stateDir: string,
    readonly network: Network,
  ) {}

  /** Makes the files and starts the apiservers. @param timeout of a probe */
  static async make(timeout = "3s"): Promise<Place> {
    const authority = await createAuthority();
    const server = await authority.issue({ names: [ENDPOINT, "other.k8s.example.test"] });
    const client = await authority.issue({ names: ["prober"], clientAuth: true });
    const [dns, addresses, folder] = [await freePort(), ["127.61.0.11", "127.61.0.12"], temporaryFolder()];
    const port = await freePort(...addresses);
    const pems = { ca: authority.caPem, server: { cert: server.certPem, key: server.keyPem } };
    const network = await Network.start(port, addresses, pems);
    const [control, stateDir] = [join(folder, "admin.sock"), join(folder, "state")];
    const targets = `{ cp1: ${addresses[0]}, cp2: ${addresses[1]} }`;
    const probe = `type: https, ca: ../ca.crt, interval: 200ms, timeout: ${timeout}, recheck: 100ms, fall: 30, tripwire: false`;
    const files = {
      "livezone.yaml": `listen: ["127.0.0.1:${dns}"]
admin: { socket: ${control}, http: "127.0.0.1:${await freePort()}", tokenFile: token }
stateDir: ${stateDir}
queries: { cookieSecretFile: cookies }
transfer: { keys: { corp: { secretFile: tsig.key } } }
zones: [zones/*.yaml]
`,
      "zones/k8s.yaml": `zone: k8s.example.test
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
transfer: { allow: [{ from: 127.0.0.0/8, key: corp }] }
endpoints:
  api:
    port: ${port}
    targets: ${targets}
    probe: { ${probe}, clientCertificate: { cert: ../client.crt, key: ../client.key } }
  other:
    port: ${port}
    targets: ${targets}
    probe: { ${probe}, bearerTokenFile: ../probe.token }
`,
      "ca.crt": authority.caPem,
      "client.crt": client.certPem,
      "client.key": client.keyPem,
      "probe.token": `${TOKEN}\n`,
      cookies: "00112233445566778899aabbccddeeff\n",
      "tsig.key": `${Buffer.from("a secret of 32 octets, in base64").toString("base64")}\n`,
      token: `${TOKEN}\n`,
    };
    return new Place(dns, addresses, control, files, stateDir, network);
  }

  /** Starts a server with files of its own, and waits until it answers with everybody. */
  async start(args: readonly string[] = []): Promise<RunningLivezone> {
    const livezone = await startLivezone({ files: this.files, args });
    await waitUntil(async () =>
      (await this.answers()).every((addresses) => addresses.length === this.addresses.length),
    );
    return livezone;
  }

  /** Waits until no process has anything left to write into last.json: a change is written 2 s after it at the latest. */
  async kept(): Promise<void> {
    const writtenMs = (): number =>
      statSync(join(this.stateDir, "last.json"), { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
    await waitUntil(() => Date.now() - writtenMs() > 2_300, { timeoutMs: 20_000, describe: "a last.json that stays" });
  }

  /** What both endpoints answer. */
  async answers(): Promise<readonly (readonly string[])[]> {
    const names = [ENDPOINT, "other.k8s.example.test"];
    const asked = names.map((name) => askForAddresses({ server: "127.0.0.1", port: this.dns, name }));
    return (await Promise.all(asked)).map((addresses) => addresses.sort());
  }

  /** {@link answers} while nothing is wrong. */
  get whole(): readonly (readonly string[])[] {
    return [this.addresses, this.addresses];
  }

  /** Writes the files of a server as they were. */
  mend(livezone: RunningLivezone): void {
    this.write(livezone.folder);
  }

  /** Writes the files of a configuration into a folder, whatever is there. */
  write(folder: string): void {
    for (const file of CONFIGURED) {
      if (!isFolder(dirname(join(folder, file)))) RUINS["a folder"](dirname(join(folder, file)));
      writeAnew(join(folder, file), this.files[file] ?? "");
    }
  }

  /** Asks for a change of `cp1` of the first endpoint. @returns the status of the reply */
  async change(action: "drain" | "undrain"): Promise<number> {
    return (await askAt({ socketPath: this.control }, "POST", targetRoute("cp1", action))).status;
  }
}

/** The apiservers, and the way to them. */
class Network {
  #probes = 0;
  #fillers: readonly { destroy(): void }[] = [];
  readonly #port: number;
  readonly #addresses: readonly string[];
  #signal: (signal: NodeJS.Signals) => void = () => {};

  private constructor(port: number, addresses: readonly string[]) {
    this.#port = port;
    this.#addresses = addresses;
  }

  static async start(port: number, addresses: readonly string[], pems: object): Promise<Network> {
    const network = new Network(port, addresses);
    const program = fileURLToPath(new URL("apiservers.mjs", import.meta.url));
    const running = await startProcess(process.execPath, [program, String(port), TOKEN, ...addresses], {
      env: { PEMS: JSON.stringify(pems) },
      readyWhen: /^listening$/,
      onLine: (line) => {
        if (line === "probe") network.#probes += 1;
      },
    });
    network.#signal = (signal) => running.signal(signal);
    afterThisTest(() => network.mend());
    return network;
  }

  /** Lets every address be probed with things as they are. */
  async probed(): Promise<void> {
    const before = this.#probes;
    await waitUntil(() => this.#probes >= before + 6, { timeoutMs: 20_000, describe: "probes" });
  }

  /** From now on, no connection can be made to any address: their queues are full, and nobody takes from them. */
  cut(): void {
    this.#signal("SIGSTOP");
    this.#fillers = this.#addresses.flatMap((host) =>
      Array.from({ length: MORE_THAN_FIT }, () => connect({ host, port: this.#port }).on("error", () => {})),
    );
  }

  mend(): void {
    for (const filler of this.#fillers) filler.destroy();
    this.#signal("SIGCONT");
  }
}

/** Has the server reload, and waits until it says in its log what came of it. */
export async function reload(livezone: RunningLivezone): Promise<string> {
  const outcomes = ["configuration reloaded", "reload refused, the old configuration stays"];
  const count = () => livezone.logs().filter(({ msg }) => outcomes.includes(msg)).length;
  const before = count();
  livezone.signal("SIGHUP");
  await waitUntil(() => count() > before, { timeoutMs: 15_000, describe: "a line of the reload" });
  return livezone.logs().findLast(({ msg }) => outcomes.includes(msg))?.msg ?? "";
}

/** Lines that tell of an answer that changed, or of a defect. */
export function alarms(livezone: RunningLivezone): readonly string[] {
  const all = livezone.logs().map(({ msg }) => msg);
  return all.filter((msg) => /withdrawn|went down|failed open|no answer|unexpected|subscriber|crashed/.test(msg));
}
