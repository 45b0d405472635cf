import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { beforeAll } from "vitest";
import type { ProbeConfig } from "../../../src/config/config.js";
import { type Authority, createAuthority, type IssuedCertificate } from "../../../src/demo/certificates.js";
import type { ProbeResult } from "../../../src/health/health.js";
import { createProbeFiles } from "../../../src/health/probes/files.js";
import { createRunProbe } from "../../../src/health/probes/probe.js";
import { systemClock } from "../../../src/lib/clock.js";
import { afterAllTests } from "../../support/cleanup.js";
import { temporaryFolder } from "../../support/temp.js";

/** The name that certificates are for, and that probes ask for. */
export const NAME = "api.k8s.example.com";
export const SCHEDULE = { intervalMs: 2000, timeoutMs: 10_000, recheckMs: 1000, rise: 2, fall: 3 };
/** For what is bound to time out: long enough for a handshake on a busy machine. */
export const SHORT = { timeoutMs: 700 };
/** Head of a response up to its first header. */
export const HEAD = "HTTP/1.1 200 OK\r\n";

/** Plain HTTP for this port. */
export function http(port: number, more: object = {}): ProbeConfig {
  return { ...SCHEDULE, type: "http", path: "/readyz", expectStatus: [200], serverName: NAME, port, ...more };
}

/** `class: reason`. */
export const said = ({ class: resultClass, reason }: ProbeResult) => `${resultClass}: ${reason}`;

/** A port of 127.0.0.1 on which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** What a file of tests probes with: real probes of 127.0.0.1, and certificates. Made before its first test. */
export interface Probing {
  readonly folder: string;
  /** The authority, and a client's certificate of it. */
  readonly files: { readonly ca: string; readonly cert: string; readonly key: string };
  authority: Authority;
  /** A certificate for {@link NAME} and 127.0.0.1. */
  good: IssuedCertificate;
  /** HTTPS for this port, with the authority trusted. */
  https(port: number, more?: object): ProbeConfig;
  probe(config: ProbeConfig, signal?: AbortSignal): Promise<ProbeResult>;
}

/** To be called at the top of a file of tests. */
export function probingSetUp(): Probing {
  const folder = temporaryFolder(afterAllTests());
  const files = { ca: join(folder, "ca.crt"), cert: join(folder, "probe.crt"), key: join(folder, "probe.key") };
  const run = createRunProbe(systemClock, createProbeFiles());
  const request = { path: "/readyz", expectStatus: [200], serverName: NAME };
  const probing = {
    folder,
    files,
    https: (port: number, more: object = {}): ProbeConfig => ({
      ...SCHEDULE,
      ...request,
      type: "https",
      port,
      ca: files.ca,
      insecureSkipVerify: false,
      ...more,
    }),
    probe: (config: ProbeConfig, signal?: AbortSignal) => run({ address: "127.0.0.1" }, config, signal),
  } as unknown as Probing;
  beforeAll(async () => {
    probing.authority = await createAuthority();
    probing.good = await probing.authority.issue({ names: [NAME, "127.0.0.1"] });
    const client = await probing.authority.issue({ names: ["livezone"], clientAuth: true });
    writeFileSync(files.ca, probing.authority.caPem);
    writeFileSync(files.cert, client.certPem);
    writeFileSync(files.key, client.keyPem);
  });
  return probing;
}
