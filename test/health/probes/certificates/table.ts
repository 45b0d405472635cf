import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { isIP } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import type { ProbeConfig } from "../../../../src/config/config.js";
import { createProbeFiles } from "../../../../src/health/probes/files.js";
import { createRunProbe } from "../../../../src/health/probes/probe.js";
import { systemClock } from "../../../../src/lib/clock.js";
import { afterThisTest } from "../../../support/cleanup.js";
import { describeWith } from "../../../support/programs.js";
import { temporaryFolder } from "../../../support/temp.js";
import { answering, response, startPeer } from "../peers.js";
import { CertificateMaker } from "./openssl.js";
import { type Case, Kit, NAME, ROWS, type Row, RULES } from "./rows.js";

const run = promisify(execFile);

/** What a judge said of a case. */
interface Verdict {
  readonly good: boolean;
  readonly text: string;
}

/** A case on disk and, with a server that presents it, on a port. */
interface Trial extends Required<Case> {
  readonly folder: string;
  readonly caFile: string;
  readonly port: number;
}

async function setUp(row: Row): Promise<Trial> {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "made"));
  const made = row.make(new Kit(new CertificateMaker(join(folder, "made"))));
  const caFile = join(folder, "ca.crt");
  writeFileSync(caFile, made.ca.map(({ certPem }) => certPem).join(""));
  const peer = await startPeer(
    answering(response("200 OK", "ok")),
    {
      cert: made.served.map(({ certPem }) => certPem).join(""),
      key: made.served[0]?.keyPem,
      // Its own OpenSSL would not load a weak certificate.
      ciphers: "DEFAULT@SECLEVEL=0",
    },
    afterThisTest,
  );
  return { serverName: NAME, ...made, folder, caFile, port: peer.port };
}

async function askLivezone({ port, caFile, serverName }: Trial): Promise<Verdict> {
  const config: ProbeConfig = {
    ...{ intervalMs: 20_000, timeoutMs: 20_000, recheckMs: 1000, rise: 2, fall: 3 },
    ...{ type: "https", path: "/readyz", expectStatus: [200], serverName, insecureSkipVerify: false, port, ca: caFile },
  };
  const probe = createRunProbe(systemClock, createProbeFiles());
  const result = await probe({ address: "127.0.0.1" }, config, new AbortController().signal);
  return { good: result.class === "ok", text: `${result.class}: ${result.reason}` };
}

async function askKubectl({ folder, port, caFile, serverName }: Trial): Promise<Verdict> {
  const kubeconfig = join(folder, "kubeconfig");
  const cluster = {
    server: `https://127.0.0.1:${port}`,
    "certificate-authority": caFile,
    "tls-server-name": serverName,
  };
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "one",
      clusters: [{ name: "one", cluster }],
      contexts: [{ name: "one", context: { cluster: "one", user: "one" } }],
      users: [{ name: "one", user: { token: "none" } }],
    }),
  );
  return judged(
    run("kubectl", ["--kubeconfig", kubeconfig, "get", "--raw", "/readyz"], { env: { ...process.env, HOME: folder } }),
  );
}

async function askOpenssl({ folder, caFile, served, serverName }: Trial): Promise<Verdict> {
  const chain = join(folder, "chain.pem");
  writeFileSync(chain, served.map(({ certPem }) => certPem).join(""));
  const name = isIP(serverName) === 0 ? ["-verify_hostname", serverName] : ["-verify_ip", serverName];
  return judged(
    run("openssl", [
      // As clients verify: level 1, and what is named may be an intermediate.
      ...["verify", "-no-CApath", "-no-CAstore", "-CAfile", caFile, "-untrusted", chain, "-partial_chain"],
      ...["-auth_level", "1", "-purpose", "sslserver", ...name, served[0]?.certFile ?? ""],
    ]),
  );
}

async function judged(process: Promise<unknown>): Promise<Verdict> {
  try {
    await process;
    return { good: true, text: "" };
  } catch (error) {
    const { stderr = "" } = error as { stderr?: string };
    return { good: false, text: stderr.trim().split("\n").at(-1) ?? "" };
  }
}

/**
 * Every certificate of the table, as livezone and others judge it.
 *
 * @param programs whom to ask besides livezone: `openssl`, and `kubectl`, which takes most of the time
 */
export function describeTable(programs: readonly ("openssl" | "kubectl")[]): void {
  describeWith(programs, `certificates, as livezone and ${programs.join(" and ")} judge them`, () => table(programs));
}

function table(programs: readonly ("openssl" | "kubectl")[]): void {
  const printed: string[] = [];
  const judges = ["livezone", ...programs] as const;
  const shown = (isGood: boolean) => (isGood ? "yes" : "no").padEnd(9);

  afterAll(() => {
    const rules = Object.entries(RULES).map(([name, { differs, why }]) => `  ${name}: ${differs} differs; ${why}`);
    const head = `${"certificate".padEnd(64)}${judges.map((one) => one.padEnd(9)).join("")}rule`;
    process.stdout.write(`\n${[head, ...printed, "rules:", ...rules].join("\n")}\n`);
  });

  test.concurrent.each(ROWS)("$name", async (row) => {
    const trial = await setUp(row);
    const verdicts: Record<string, Verdict> = { livezone: await askLivezone(trial) };
    for (const program of programs) verdicts[program] = await ASK[program](trial);
    const good = judges.map((judge) => verdicts[judge]?.good ?? false);
    printed.push(`${row.name.padEnd(64)}${good.map(shown).join("")}${row.rule ?? ""}`);
    const differs = row.rule === undefined ? undefined : RULES[row.rule].differs;
    const expected = judges.map((judge) => (judge === differs ? !row.good : row.good));
    expect(good, said(verdicts)).toEqual(expected);
    if (row.says !== undefined) expect(verdicts.livezone?.text).toContain(row.says);
  });

  test("there are enough of them, and every rule is needed", () => {
    expect(ROWS.length).toBeGreaterThanOrEqual(40);
    const used = new Set(ROWS.map(({ rule }) => rule));
    expect(Object.keys(RULES).filter((rule) => !used.has(rule as keyof typeof RULES))).toEqual([]);
  });
}

const ASK = { openssl: askOpenssl, kubectl: askKubectl };

function said(verdicts: Readonly<Record<string, Verdict>>): string {
  return Object.entries(verdicts)
    .map(([judge, { text }]) => `${judge}: ${text}`)
    .join("\n");
}
