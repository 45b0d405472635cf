import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { createAuthority } from "../../src/demo/certificates.js";
import { afterThisTest } from "../support/cleanup.js";
import { askForAddresses } from "../support/dns-client.js";
import { LIVEZONE_MAIN, type RunningLivezone, startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { startProcess } from "../support/processes.js";
import { waitUntil } from "../support/wait.js";

const ENDPOINT = "api.k8s.example.test";
const TOKEN = "correct-horse-battery-staple";

/** What happens to a file, by name. */
const RUINS: Readonly<Record<string, (file: string) => void>> = {
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
};

/** Files of the configuration: a reload with one of them ruined is refused. */
const CONFIGURED = [
  "livezone.yaml",
  "zones/k8s.yaml",
  "ca.crt",
  "client.crt",
  "client.key",
  "probe.token",
  "cookies",
  "token",
] as const;

/** Those that probes read again when they change. */
const PROBES_READ: ReadonlySet<string> = new Set(["ca.crt", "client.crt", "client.key", "probe.token"]);

/** Files that the server writes itself. */
const STATE = ["state/overrides.json", "state/last.json"] as const;

function writeAnew(file: string, content: string | Buffer): void {
  rmSync(file, { recursive: true, force: true });
  writeFileSync(file, content, { mode: 0o600 });
}

let pems: {
  readonly ca: string;
  readonly server: { cert: string; key: string };
  readonly client: { cert: string; key: string };
};

beforeAll(async () => {
  const authority = await createAuthority();
  const server = await authority.issue({ names: [ENDPOINT, "other.k8s.example.test"] });
  const client = await authority.issue({ names: ["prober"], clientAuth: true });
  pems = {
    ca: authority.caPem,
    server: { cert: server.certPem, key: server.keyPem },
    client: { cert: client.certPem, key: client.keyPem },
  };
});

/** Two targets that want the client certificate or the token; while `isHung`, they accept and leave probes without an answer. */
async function startApiservers() {
  const addresses = ["127.61.0.11", "127.61.0.12"];
  const port = await freePort(...addresses);
  const state = { isHung: false, probes: 0 };
  for (const address of addresses) {
    const server = createServer(
      { ...pems.server, ca: pems.ca, requestCert: true, rejectUnauthorized: false },
      (request, response) => {
        state.probes += 1;
        if (state.isHung) return;
        const hasToken = request.headers.authorization === `Bearer ${TOKEN}`;
        // "authorized" is of TLS sockets, which the type of a request does not say.
        const hasCertificate = (request.socket as unknown as { authorized: boolean }).authorized;
        response.writeHead(hasToken || hasCertificate ? 200 : 401).end("ok");
      },
    );
    await new Promise<void>((resolve) => server.listen(port, address, resolve));
    afterThisTest(() => {
      server.closeAllConnections();
      server.close();
    });
  }
  return { addresses, port, state };
}

/** @param timeout of a probe: long, since the stand-ins share this process, which a file of 1 GiB keeps busy */
async function startAll(timeout = "3s") {
  const dns = await freePort();
  const apiservers = await startApiservers();
  const [cp1, cp2] = apiservers.addresses;
  const probe = `type: https, ca: ../ca.crt, interval: 200ms, timeout: ${timeout}, recheck: 100ms, fall: 30, tripwire: false`;
  const livezone = await startLivezone({
    files: {
      "livezone.yaml": `listen: ["127.0.0.1:${dns}"]
admin: { socket: admin.sock, http: "127.0.0.1:0", tokenFile: token }
stateDir: state
queries: { cookieSecretFile: cookies }
zones: [zones/*.yaml]
`,
      "zones/k8s.yaml": `zone: k8s.example.test
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
endpoints:
  api:
    port: ${apiservers.port}
    targets: { cp1: ${cp1}, cp2: ${cp2} }
    probe: { ${probe}, clientCertificate: { cert: ../client.crt, key: ../client.key } }
  other:
    port: ${apiservers.port}
    targets: { cp1: ${cp1}, cp2: ${cp2} }
    probe: { ${probe}, bearerTokenFile: ../probe.token }
`,
      "ca.crt": pems.ca,
      "client.crt": pems.client.cert,
      "client.key": pems.client.key,
      "probe.token": `${TOKEN}\n`,
      cookies: "00112233445566778899aabbccddeeff\n",
      token: `${TOKEN}\n`,
    },
  });
  const at = (file: string): string => join(livezone.folder, file);
  await waitUntil(() => STATE.every((file) => file !== "state/last.json" || existsSync(at(file))), {
    timeoutMs: 10_000,
  });
  const answers = async () =>
    (
      await Promise.all(
        [ENDPOINT, "other.k8s.example.test"].map((name) => askForAddresses({ server: "127.0.0.1", port: dns, name })),
      )
    ).map((addresses) => addresses.sort());
  const whole = [apiservers.addresses, apiservers.addresses];
  expect(await answers()).toEqual(whole);
  const contents = new Map<string, Buffer>(CONFIGURED.map((file) => [file, readFileSync(at(file))]));
  const mend = (): void => {
    for (const [file, content] of contents) writeAnew(at(file), content);
    for (const file of STATE) rmSync(at(file), { recursive: true, force: true });
  };
  /** Lets every address be probed with things as they are. */
  const probed = async (): Promise<void> => {
    const { probes } = apiservers.state;
    await waitUntil(() => apiservers.state.probes >= probes + 6, { describe: "probes" });
  };
  return { livezone, apiservers, answers, whole, at, mend, probed };
}

/** Has the server reload, and waits until it says in its log what came of it. */
async function reload(livezone: RunningLivezone): Promise<string> {
  const outcomes = ["configuration reloaded", "reload refused, the old configuration stays"];
  const count = () => livezone.logs().filter(({ msg }) => outcomes.includes(msg)).length;
  const before = count();
  livezone.signal("SIGHUP");
  await waitUntil(() => count() > before, { describe: "a line of the reload" });
  return livezone.logs().findLast(({ msg }) => outcomes.includes(msg))?.msg ?? "";
}

/** Whoever was withdrawn, or changed answers otherwise, since the start. */
const withdrawn = (livezone: RunningLivezone) =>
  livezone.logs().filter(({ msg }) => /withdrawn|went down|failed open|no answer|unexpected|subscriber/.test(msg));

describe("a file that goes bad while the server runs", () => {
  test.each(Object.keys(RUINS))(
    "ends nothing and changes no answer when it becomes %s",
    { timeout: 60_000 },
    async (how) => {
      const { livezone, answers, whole, at, mend, probed } = await startAll();
      for (const file of CONFIGURED) {
        RUINS[how]?.(at(file));
        expect({ file, outcome: await reload(livezone) }).toEqual({
          file,
          outcome: "reload refused, the old configuration stays",
        });
        if (PROBES_READ.has(file)) await probed();
        expect({ file, answers: await answers() }).toEqual({ file, answers: whole });
        mend();
      }
      expect(await reload(livezone)).toBe("configuration reloaded");
      // What the server writes is written over, or a line says that it cannot be.
      for (const file of STATE) {
        RUINS[how]?.(at(file));
        const drained = await runDrain(livezone);
        const wrote = (): boolean => livezone.logs("state not saved").length > 0 || isJson(at(file));
        await waitUntil(() => drained.refused || wrote(), { timeoutMs: 15_000, describe: `${file} to be written` });
        expect(await answersWithout(drained.refused, answers)).toEqual(true);
        await runDrain(livezone, "undrain");
        rmSync(at(file), { recursive: true, force: true });
      }
      expect(withdrawn(livezone)).toEqual([]);
      expect(await livezone.stop()).toMatchObject({ code: 0 });
    },
  );

  test("ends nothing when all of them are gone as no apiserver answers, and a takeover of such files leaves the server alone", {
    timeout: 60_000,
  }, async () => {
    const { livezone, apiservers, answers, whole, at, mend, probed } = await startAll("200ms");
    for (const file of [...CONFIGURED, ...STATE]) RUINS["a folder"]?.(at(file));
    apiservers.state.isHung = true;
    await livezone.waitForLog("endpoint failed open");
    expect(await answers()).toEqual(whole);
    expect(await reload(livezone)).toBe("reload refused, the old configuration stays");
    apiservers.state.isHung = false;
    await livezone.waitForLog("endpoint recovered");
    expect(await answers()).toEqual(whole);
    await livezone.waitForLog("probe file cannot be used, its content before serves");
    for (const file of CONFIGURED) {
      mend();
      RUINS["a folder"]?.(at(file));
      const successor = await startProcess(
        process.execPath,
        [LIVEZONE_MAIN, "serve", "--takeover", "--config", "livezone.yaml"],
        {
          cwd: livezone.folder,
        },
      );
      expect({ file, ...(await successor.ended) }).toMatchObject({ file, code: 1 });
      expect(successor.stderr()).not.toBe("");
      expect(await answers()).toEqual(whole);
    }
    mend();
    await probed();
    expect(await reload(livezone)).toBe("configuration reloaded");
    expect(livezone.logs().filter(({ msg }) => /unexpected|subscriber/.test(msg))).toEqual([]);
    expect(await livezone.stop()).toMatchObject({ code: 0 });
  });
});

function isJson(file: string): boolean {
  try {
    JSON.parse(readFileSync(file, "utf8"));
    return true;
  } catch {
    return false;
  }
}

/** Drains `cp1` of `api` by the command, or ends that. */
async function runDrain(livezone: RunningLivezone, command = "drain"): Promise<{ readonly refused: boolean }> {
  const running = await startProcess(process.execPath, [LIVEZONE_MAIN, command, ENDPOINT, "cp1"], {
    cwd: livezone.folder,
  });
  const { code } = await running.ended;
  return { refused: code !== 0 };
}

/** Whether the answers are as they should be after a drain that was refused, or carried out. */
async function answersWithout(isRefused: boolean, answers: () => Promise<string[][]>): Promise<boolean> {
  const [api, other] = await answers();
  return api?.length === (isRefused ? 2 : 1) && other?.length === 2;
}
