import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type Apiserver, startApiserver } from "../../src/demo/apiserver-process.js";
import { createAuthority, type IssuedCertificate } from "../../src/demo/certificates.js";
import { startBindAuthoritative, startBindResolver } from "../support/bind.js";
import type { Cleanup } from "../support/cleanup.js";
import { askForAddresses } from "../support/dns-client.js";
import { type RunningLivezone, startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { startUnbound } from "../support/unbound.js";

/** The name that the cluster would have as `controlPlaneEndpoint`. */
export const ENDPOINT = "api.k8s.example.com";

/** What differs between a quick test and a measurement of the defaults. */
export interface CorporateOptions {
  /** The endpoint's `probe` settings as a YAML flow mapping, e.g. `{ interval: 300ms }`. Default: livezone's. */
  readonly probe?: string;
  /** TTL of the endpoint, seconds. Default: livezone's. */
  readonly ttl?: number;
  readonly cleanup: Cleanup;
}

/** Who can be asked for the endpoint. */
export type Answerer = "livezone 1" | "livezone 2" | "Unbound" | "BIND";

export const ANSWERERS: readonly Answerer[] = ["livezone 1", "livezone 2", "Unbound", "BIND"];

/** One target of the endpoint and the process behind it. */
export interface CorporateTarget {
  readonly id: string;
  readonly address: string;
  readonly apiserver: Apiserver;
}

/**
 * A company's DNS on loopback: `example.com` in BIND delegates `k8s.example.com`, with glue, to two livezone
 * instances; Unbound and another BIND resolve through that delegation; three apiservers are behind the endpoint.
 */
export interface Corporate {
  readonly livezones: readonly [RunningLivezone, RunningLivezone];
  readonly targets: readonly [CorporateTarget, CorporateTarget, CorporateTarget];
  readonly certificates: Readonly<Record<"good" | "expired" | "wrongName", IssuedCertificate>>;
  /** Whether Unbound follows the glue to port 53, or (where that port is not ours to open) is told the servers. */
  readonly unboundFollowsGlue: boolean;
  /** The addresses of {@link ENDPOINT}, sorted. */
  ask(whom: Answerer): Promise<string[]>;
  /** The text of `/metrics` of one livezone instance, 0 or 1. */
  metrics(instance: 0 | 1): Promise<string>;
}

export async function startCorporate({ probe, ttl, cleanup }: CorporateOptions): Promise<Corporate> {
  // A corner of 127.0.0.0/8 of our own: port 53 and the apiservers' port are free there.
  const net = `127.${randomInt(1, 250)}.${randomInt(0, 256)}`;
  const nameservers = [`${net}.1`, `${net}.2`] as const;
  const addresses = [`${net}.11`, `${net}.12`, `${net}.13`] as const;
  // BIND asks every server on its own port, so livezone must listen on that one.
  const bindPort = await freePort("127.0.0.1", ...nameservers);
  const unboundFollowsGlue = await canOpenPort53(nameservers[0]);

  const authority = await createAuthority();
  const certificates = {
    good: await authority.issue({ names: [ENDPOINT] }),
    expired: await authority.issue({ names: [ENDPOINT], notAfter: new Date(Date.now() - 60_000) }),
    wrongName: await authority.issue({ names: ["api.other.example.com"] }),
  };
  const apiserverPort = await freePort(...addresses);
  const startTarget = async (id: string, address: string): Promise<CorporateTarget> => {
    const apiserver = await startApiserver({ address, port: apiserverPort, ...certificates.good });
    cleanup(() => apiserver.crash());
    return { id, address, apiserver };
  };
  const targets = await Promise.all([
    startTarget("cp1", addresses[0]),
    startTarget("cp2", addresses[1]),
    startTarget("cp3", addresses[2]),
  ]);

  const zoneFile = `zone: k8s.example.com
allowSpecialAddresses: true
nameservers: { ns1: ${nameservers[0]}, ns2: ${nameservers[1]} }
endpoints:
  api:
    port: ${apiserverPort}
${ttl === undefined ? "" : `    ttl: ${ttl}\n`}    targets:
${targets.map(({ id, address }) => `      ${id}: ${address}\n`).join("")}    probe:
      ca: ../ca.crt
      flap: { limit: 100 }
${probe === undefined ? "" : `${probe.replace(/^/gm, "      ")}\n`}`;
  const startInstance = async (address: string) => {
    const ports = unboundFollowsGlue ? [bindPort, 53] : [bindPort];
    const listen = ports.map((port) => `"${address}:${port}"`).join(", ");
    const main = `listen: [${listen}]\nadmin: { http: "127.0.0.1:0" }\nzones: [zones/*.yaml]\n`;
    return startLivezone({
      files: { "livezone.yaml": main, "zones/k8s.yaml": zoneFile, "ca.crt": authority.caPem },
      cleanup,
    });
  };
  const livezones = await Promise.all([startInstance(nameservers[0]), startInstance(nameservers[1])]);

  const parentZone = `$TTL 300
@ SOA ns hostmaster 1 7200 900 1209600 300
@ NS ns
ns A 127.0.0.1
k8s 300 NS ns1.k8s
k8s 300 NS ns2.k8s
ns1.k8s 300 A ${nameservers[0]}
ns2.k8s 300 A ${nameservers[1]}
`;
  const zones = { "example.com": parentZone };
  // A BIND that serves the parent zone and resolves for clients, and one that only serves it, for Unbound to start from.
  const [bind, parent] = await Promise.all([
    startBindResolver({ port: bindPort, zones, cleanup }),
    startBindAuthoritative({ zones, cleanup }),
  ]);
  const stubZones = [{ name: "example.com", servers: [{ address: parent.address, port: parent.port }] }];
  if (!unboundFollowsGlue) {
    const servers = nameservers.map((address) => ({ address, port: bindPort }));
    stubZones.push({ name: "k8s.example.com", servers });
  }
  const unbound = await startUnbound({ stubZones, cleanup });

  const places = {
    "livezone 1": { server: nameservers[0], port: bindPort },
    "livezone 2": { server: nameservers[1], port: bindPort },
    Unbound: { server: unbound.address, port: unbound.port },
    BIND: { server: bind.address, port: bind.port },
  };
  return {
    livezones,
    targets,
    certificates,
    unboundFollowsGlue,
    ask: (whom) => askForAddresses({ ...places[whom], name: ENDPOINT, rd: true }),
    async metrics(instance) {
      const started = await livezones[instance].waitForLog("server started");
      const response = await fetch(`http://${started.http}/metrics`);
      return response.text();
    },
  };
}

async function canOpenPort53(address: string): Promise<boolean> {
  const socket = createSocket("udp4");
  try {
    socket.bind({ address, port: 53, exclusive: true });
    await once(socket, "listening");
    return true;
  } catch {
    return false;
  } finally {
    await new Promise<void>((resolve) => socket.close(() => resolve()));
  }
}
