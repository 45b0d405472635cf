import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Authority, createAuthority, type IssuedCertificate, type KeyType } from "../../src/demo/certificates.js";

const DAY_MS = 86_400_000;
const NAME = "api.k8s.example.test";

/** Resolves with the socket once the handshake is done; rejects with the TLS error. */
async function handshake(
  ca: string,
  certificate: IssuedCertificate,
  servername = NAME,
  client?: IssuedCertificate,
): Promise<TLSSocket> {
  const server = createServer({
    cert: certificate.certPem,
    key: certificate.keyPem,
    ...(client ? { requestCert: true, rejectUnauthorized: true, ca } : {}),
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const socket = connect({
    host: "127.0.0.1",
    port: (server.address() as AddressInfo).port,
    ca,
    servername,
    ...(client ? { cert: client.certPem, key: client.keyPem } : {}),
  });
  onTestFinished(() => {
    socket.destroy();
  });
  await once(socket, "secureConnect");
  return socket;
}

describe("createAuthority", () => {
  for (const keyType of ["ec", "rsa", "ed25519"] satisfies KeyType[]) {
    it(`issues ${keyType} certificates that a TLS client accepts`, async () => {
      const authority = await createAuthority({ keyType });
      const socket = await handshake(authority.caPem, await authority.issue({ names: [NAME], keyType }));
      expect(socket.authorized).toBe(true);
    });
  }

  it("puts DNS names and addresses into the certificate, and marks the authority as one", async () => {
    const authority = await createAuthority({ commonName: "test CA" });
    const { certPem, keyPem } = await authority.issue({ names: [NAME, "127.0.0.11", "2001:db8::11"] });
    const leaf = new X509Certificate(certPem);
    const ca = new X509Certificate(authority.caPem);
    expect(leaf.subjectAltName).toBe(`DNS:${NAME}, IP Address:127.0.0.11, IP Address:2001:DB8:0:0:0:0:0:11`);
    expect([leaf.ca, ca.ca, ca.subject]).toEqual([false, true, "CN=test CA"]);
    expect(leaf.verify(ca.publicKey)).toBe(true);
    expect(leaf.checkIssued(ca)).toBe(true);
    expect(keyPem).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
  });

  it("gives each certificate its own serial number", async () => {
    const authority = await createAuthority();
    const serials = new Set<string>();
    for (let i = 0; i < 20; i++) {
      serials.add(new X509Certificate((await authority.issue({ names: [NAME] })).certPem).serialNumber);
    }
    expect(serials.size).toBe(20);
  });

  it("issues client certificates that a server accepts and that no server can use", async () => {
    const authority = await createAuthority();
    const client = await authority.issue({ names: ["livezone"], clientAuth: true });
    const server = await authority.issue({ names: [NAME] });
    expect((await handshake(authority.caPem, server, NAME, client)).authorized).toBe(true);
    await expect(handshake(authority.caPem, client, "livezone")).rejects.toMatchObject({ code: "INVALID_PURPOSE" });
  });

  const refused: {
    name: string;
    code: string;
    issue(authority: Authority): Promise<IssuedCertificate>;
  }[] = [
    {
      name: "an expired certificate",
      code: "CERT_HAS_EXPIRED",
      issue: (authority) => authority.issue({ names: [NAME], notAfter: new Date(Date.now() - DAY_MS) }),
    },
    {
      name: "a certificate that is not valid yet",
      code: "CERT_NOT_YET_VALID",
      issue: (authority) => authority.issue({ names: [NAME], notBefore: new Date(Date.now() + DAY_MS) }),
    },
    {
      name: "a certificate for another name",
      code: "ERR_TLS_CERT_ALTNAME_INVALID",
      issue: (authority) => authority.issue({ names: ["other.example.test"] }),
    },
    {
      name: "a certificate of another authority",
      code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      issue: async () => (await createAuthority({ commonName: "another CA" })).issue({ names: [NAME] }),
    },
  ];
  for (const { name, code, issue } of refused) {
    it(`lets a client refuse ${name}`, async () => {
      const authority = await createAuthority();
      await expect(handshake(authority.caPem, await issue(authority))).rejects.toMatchObject({ code });
    });
  }

  it("refuses a certificate without names", async () => {
    await expect((await createAuthority()).issue({ names: [] })).rejects.toThrow("at least one name");
  });
});
