import { type ChildProcess, fork } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import type { ProbeConfig } from "../../../src/config/config.js";
import { createAuthority } from "../../../src/demo/certificates.js";
import type { ProbeResult, Transition } from "../../../src/health/health.js";
import { createHealthMonitor } from "../../../src/health/monitor.js";
import { createProbeFiles } from "../../../src/health/probes/files.js";
import { createRunProbe } from "../../../src/health/probes/probe.js";
import { createOpenTripwire } from "../../../src/health/probes/tripwire.js";
import { systemClock } from "../../../src/lib/clock.js";
import { afterAllTests } from "../../support/cleanup.js";
import { runRandom } from "../../support/random.js";
import { temporaryFolder } from "../../support/temp.js";
import { waitUntil } from "../../support/wait.js";
import { selfSigned } from "../probes/self-signed.js";
import { DEFAULTS, EXPECTATIONS, type Expectation, matrixTable, withdrawnWithinMs } from "./behaviours.js";
import { createNetwork, hasNetworks } from "./network.js";

const NAME = "api.k8s.example.com";
const DAY_MS = 86_400_000;
const PEER = fileURLToPath(new URL("peer.mjs", import.meta.url));
const DOCUMENT = fileURLToPath(new URL("../../../docs/health.md", import.meta.url));

/** Failures in a row that each kind of evidence needs. */
const NEEDED = { hard: 2, expired: 2, soft: 3, hang: 2, unconnected: 2 } as const;

/** Without the right to make a network of its own, a machine cannot black out an address. */
const canBlackOut = hasNetworks();

const cleanup = afterAllTests();
const transitions = new Map<string, (Transition & { readonly atMs: number })[]>();
const results = new Map<string, (ProbeResult & { readonly atMs: number })[]>();
const failedAtMs = new Map<string, number>();

function toRun(): readonly Expectation[] {
  return EXPECTATIONS.filter(({ by }) => by !== "network" || canBlackOut);
}

beforeAll(async () => {
  const folder = temporaryFolder(cleanup);
  const ca = path.join(folder, "ca.crt");
  const authority = await createAuthority();
  writeFileSync(ca, authority.caPem);
  const certificates = await makeCertificates(authority);
  const network = canBlackOut ? createNetwork(cleanup) : undefined;
  const peers = await Promise.all(
    toRun().map(async (expectation) => {
      const { behaviour, by } = expectation;
      const inside = by === "network" ? network : undefined;
      const child = await startPeer(inside?.prefix ?? []);
      const address = inside?.address ?? "127.0.0.1";
      const [port] = await ask<number>(child, { start: { address, certificates } }, "port");
      return { expectation, behaviour, child, address, port, blackOut: inside?.blackOut };
    }),
  );
  const files = createProbeFiles();
  const monitor = createHealthMonitor({
    clock: systemClock,
    random: runRandom(),
    runProbe: createRunProbe(systemClock, files),
    openTripwire: createOpenTripwire(files),
    onTransition(batch) {
      const atMs = performance.now();
      for (const one of batch) transitions.set(one.target, [...(transitions.get(one.target) ?? []), { ...one, atMs }]);
    },
    onResult({ result, targets, ignored }) {
      // A machine that is too busy for this process makes failures that count for nothing.
      if (ignored !== undefined) return;
      const atMs = performance.now();
      for (const { target } of targets) results.set(target, [...(results.get(target) ?? []), { ...result, atMs }]);
    },
  });
  cleanup(() => monitor.stop());
  monitor.configure(
    peers.map(({ behaviour, address, port }) => ({
      fqdn: behaviour,
      probe: probeOf(port, ca),
      targets: [{ id: behaviour, addresses: [address] }],
    })),
  );
  monitor.start();
  const everyTripwire = () => monitor.tripwires === peers.length;
  await waitUntil(everyTripwire, {
    timeoutMs: 20_000,
    describe: () => `${monitor.tripwires} of ${peers.length} tripwires`,
  });
  await Promise.all(
    peers.map(async ({ behaviour, child, blackOut }) => {
      failedAtMs.set(behaviour, performance.now());
      if (blackOut === undefined) await ask(child, { become: behaviour }, "became");
      else blackOut();
    }),
  );
  const isDone = ({ behaviour, confirmation }: Expectation) =>
    confirmation === undefined || (transitions.get(behaviour) ?? []).length > 1;
  const startedMs = performance.now();
  // Those that are to stay up must do so for as long as it takes to withdraw the slowest.
  const longestMs = Math.max(...EXPECTATIONS.map((one) => withdrawnWithinMs(one) ?? 0));
  await waitUntil(() => performance.now() - startedMs > longestMs && toRun().every(isDone), {
    timeoutMs: 30_000,
    describe: () =>
      toRun()
        .filter((one) => !isDone(one))
        .map(({ behaviour }) => behaviour)
        .join("; "),
  }).catch((error: unknown) => console.error(error));
}, 90_000);

describe("an apiserver that", () => {
  for (const expectation of EXPECTATIONS) {
    const { behaviour, by, confirmation } = expectation;
    const what = confirmation === undefined ? "stays up" : `is withdrawn as ${expectation.class}`;
    test.skipIf(by === "network" && !canBlackOut)(`${behaviour} ${what}`, () => {
      const failedMs = failedAtMs.get(behaviour) ?? 0;
      const [first, second, ...more] = transitions.get(behaviour) ?? [];
      expect(first).toMatchObject({ from: "unknown", to: "up" });
      expect(more).toEqual([]);
      const met = (results.get(behaviour) ?? []).filter(({ atMs }) => atMs > failedMs + 2500);
      if (confirmation === undefined) {
        expect(second).toBeUndefined();
        // A machine that is busy with all these processes may add the odd timeout to the slow one.
        const reasons = new Set(met.map(({ reason }) => reason));
        for (const reason of expectation.reason.replace(/^now /, "").split(", now "))
          expect([...reasons]).toContain(reason);
        return;
      }
      expect(second).toMatchObject({ from: "up", to: "down", result: { class: expectation.class } });
      const reason = second?.result.reason.replace(/\d{4}-\d\d-\d\d/, "<day>");
      expect([expectation.reason, expectation.orReason]).toContain(reason);
      // It took no more probes than the rules say, or one that still met the end of the old behaviour. How long that is
      // in time, `bench/withdrawal.mjs` measures on a machine that has time for it.
      const failures = (results.get(behaviour) ?? []).filter(
        ({ class: resultClass, atMs }) => resultClass !== "ok" && atMs <= (second?.atMs ?? 0) + 1,
      );
      expect(failures.length).toBeGreaterThanOrEqual(NEEDED[confirmation]);
      expect(failures.length).toBeLessThanOrEqual(NEEDED[confirmation] + 1);
      // Not sooner than the rules allow either: two hard failures 200 ms apart, three of most others.
      const leastMs = { hard: 200, expired: 1000, soft: 2000, hang: 6000, unconnected: 3000 }[confirmation];
      expect(second?.afterMs).toBeGreaterThanOrEqual(leastMs - 5);
    });
  }
});

// To write it anew: UPDATE_DOCS=1 npx vitest run test/health/matrix
test("docs/health.md has the table", () => {
  const text = readFileSync(DOCUMENT, "utf8");
  const [before = "", , after = ""] = text.split(/<!-- matrix -->\n|\n<!-- end of matrix -->/);
  const expected = `${before}<!-- matrix -->\n${matrixTable()}\n<!-- end of matrix -->${after}`;
  if (process.env.UPDATE_DOCS !== undefined) writeFileSync(DOCUMENT, expected);
  expect(readFileSync(DOCUMENT, "utf8")).toBe(expected);
});

function probeOf(port: number, ca: string): ProbeConfig {
  return {
    ...DEFAULTS,
    type: "https",
    path: "/readyz",
    expectStatus: [200],
    serverName: NAME,
    port,
    ca,
    insecureSkipVerify: false,
  };
}

async function makeCertificates(authority: Awaited<ReturnType<typeof createAuthority>>) {
  const names = [NAME];
  const now = Date.now();
  const other = await createAuthority({ commonName: "another authority" });
  const made = {
    good: authority.issue({ names }),
    rsa: authority.issue({ names, keyType: "rsa" }),
    ed25519: authority.issue({ names, keyType: "ed25519" }),
    expired: authority.issue({ names, notBefore: new Date(now - 9 * DAY_MS), notAfter: new Date(now - DAY_MS) }),
    notYetValid: authority.issue({ names, notBefore: new Date(now + DAY_MS) }),
    wrongName: authority.issue({ names: ["other.example.com"] }),
    otherAuthority: other.issue({ names }),
    selfSigned: selfSigned(NAME),
  };
  const entries = Object.entries(made).map(async ([kind, promise]) => {
    const { certPem, keyPem } = await promise;
    return [kind, { cert: certPem, key: keyPem }] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** @param prefix program and arguments that run the peer in a network of its own */
async function startPeer(prefix: readonly string[]): Promise<ChildProcess> {
  const [program = process.execPath, ...args] = prefix;
  const child = fork(PEER, [], {
    execPath: program,
    execArgv: prefix.length === 0 ? [] : [...args, process.execPath],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
  });
  cleanup(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  return child;
}

/** Sends a message and resolves with that member of the reply. */
function ask<T>(child: ChildProcess, message: object, member: string): Promise<[T]> {
  return new Promise((resolve, reject) => {
    child.on("message", (reply: Record<string, T>) => {
      if (member in reply) resolve([reply[member] as T]);
    });
    child.once("exit", () =>
      reject(new Error(`the peer ended before it answered ${JSON.stringify(Object.keys(message))}`)),
    );
    child.send(message);
  });
}
