import { once } from "node:events";
import { createServer } from "node:https";
import {
  type Authority,
  type CertificateRequest,
  createAuthority,
  type IssuedCertificate,
} from "../../src/demo/certificates.js";
import type { Cleanup } from "../support/cleanup.js";
import { freePort } from "../support/ports.js";

/** Days from now, or ago. */
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);

/** One apiserver: what it answers at `/readyz`, and with which certificate. */
interface Kind {
  readonly status?: number;
  /** What differs from a certificate for the endpoints and the address of the apiserver. */
  readonly certificate?: Partial<CertificateRequest>;
  /** Addresses that stand in the certificate instead of its own. */
  readonly addresses?: readonly string[];
  readonly otherAuthority?: true;
  /** Present this one's certificate. */
  readonly sameAs?: string;
}

/** The apiservers that zones of the scenarios name, as `<cp1>`, and the last octet of the address of each. */
const KINDS: Readonly<Record<string, Kind>> = {
  cp1: {},
  cp2: {},
  cp3: {},
  wrongName: { certificate: { names: ["kubernetes", "kubernetes.default"] } },
  expired: { certificate: { notAfter: inDays(-1) } },
  expiring: { certificate: { notAfter: inDays(7.5) } },
  stranger: { otherAuthority: true },
  unauthorized: { status: 401 },
  unready: { status: 500 },
  overloaded: { status: 429 },
  copy: { sameAs: "cp1" },
  behindVip1: { addresses: ["10.96.0.1", "192.0.2.100"] },
  behindVip2: { addresses: ["10.96.0.1", "192.0.2.100"] },
};

/** Apiservers of every kind, each on its own address and all on one port. */
export interface Apiservers {
  readonly port: number;
  readonly caPem: string;
  /** By the name of the kind. */
  readonly addresses: Readonly<Record<string, string>>;
}

/** Runs them in this process. @param names the endpoints for which their certificates are good */
export async function startApiservers(net: string, names: readonly string[], cleanup: Cleanup): Promise<Apiservers> {
  const addresses = Object.fromEntries(Object.keys(KINDS).map((kind, index) => [kind, `${net}.${20 + index}`]));
  const port = await freePort(...Object.values(addresses));
  const [authority, other] = await Promise.all([createAuthority(), createAuthority()]);
  const issued: Record<string, IssuedCertificate> = {};
  for (const [name, kind] of Object.entries(KINDS)) {
    const address = addresses[name] as string;
    issued[name] =
      issued[kind.sameAs ?? ""] ?? (await issue(kind.otherAuthority ? other : authority, kind, names, address));
    const { status = 200 } = kind;
    const { certPem, keyPem } = issued[name];
    const server = createServer({ cert: certPem, key: keyPem }, (_request, response) => {
      response.writeHead(status, { "Content-Type": "text/plain" });
      response.end(status === 200 ? "ok" : "[-]etcd failed: reason withheld\n");
    });
    server.on("tlsClientError", () => {});
    server.listen({ host: address, port, exclusive: true });
    await once(server, "listening");
    cleanup(() => server.close());
  }
  return { port, caPem: authority.caPem, addresses };
}

function issue(
  authority: Authority,
  kind: Kind,
  names: readonly string[],
  address: string,
): Promise<IssuedCertificate> {
  return authority.issue({
    names: [...names, ...(kind.addresses ?? [address])],
    notAfter: inDays(365),
    ...kind.certificate,
  });
}
