import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createAuthority, type IssuedCertificate } from "../../../src/demo/certificates.js";
import { waitUntil } from "../../support/wait.js";
import { answering, response, startPeer } from "./peers.js";
import { closedPort, NAME, probingSetUp, SHORT, said } from "./probing.js";
import { selfSigned } from "./self-signed.js";

const probing = probingSetUp();
const { files, folder, https, probe } = probing;

const DAY_MS = 86_400_000;

describe("an https probe", () => {
  const ok = answering(response("200 OK", "ok"));
  const tls = (certificate: IssuedCertificate) => ({ cert: certificate.certPem, key: certificate.keyPem });

  test.each(["ec", "rsa", "ed25519"] as const)(
    "passes with a certificate of type %s, and reads its end",
    async (keyType) => {
      const notAfter = new Date(Math.floor(Date.now() / 1000) * 1000 + 10 * DAY_MS);
      const peer = await startPeer(ok, tls(await probing.authority.issue({ names: [NAME], keyType, notAfter })));
      const found = await probe(https(peer.port));
      expect(said(found)).toBe("ok: status 200");
      expect(found.certificateExpiryMs).toBe(notAfter.getTime());
      await waitUntil(() => peer.open === 0, { describe: "the connection to be released" });
    },
  );

  test("sends the name as SNI and asks for HTTP/1.1", async () => {
    const seen: unknown[] = [];
    const peer = await startPeer(
      (socket) => {
        if ("servername" in socket && "alpnProtocol" in socket) seen.push(socket.servername, socket.alpnProtocol);
        ok(socket);
      },
      { ...tls(probing.good), ALPNProtocols: ["h2", "http/1.1"] },
    );
    expect((await probe(https(peer.port))).class).toBe("ok");
    expect(seen).toEqual([NAME, "http/1.1"]);
  });

  test("may be given an address as the name, which is no SNI but is verified", async () => {
    const peer = await startPeer(ok, tls(probing.good));
    expect((await probe(https(peer.port, { serverName: "127.0.0.1" }))).class).toBe("ok");
    expect(said(await probe(https(peer.port, { serverName: "192.0.2.1" })))).toBe(
      `tls-name-mismatch: the certificate is not for 192.0.2.1 but for ${NAME}, 127.0.0.1`,
    );
  });

  const bad: readonly { name: string; issue: () => Promise<IssuedCertificate>; result: RegExp }[] = [
    {
      name: "another name",
      issue: () => probing.authority.issue({ names: ["kubernetes", "10.96.0.1"] }),
      result: /^tls-name-mismatch: the certificate is not for api\.k8s\.example\.com but for kubernetes, 10\.96\.0\.1$/,
    },
    {
      name: "an end in the past",
      issue: () => probing.authority.issue({ names: [NAME], notAfter: new Date("2025-03-04T05:06:07Z") }),
      result: /^tls-expired: the certificate expired on 2025-03-04$/,
    },
    {
      name: "a beginning in the future",
      issue: () =>
        probing.authority.issue({
          names: [NAME],
          notBefore: new Date("2090-01-01T00:00:00Z"),
          notAfter: new Date("2090-02-01T00:00:00Z"),
        }),
      result: /^tls-expired: the certificate is not valid before 2090-01-01$/,
    },
    {
      name: "another authority",
      issue: async () => (await createAuthority()).issue({ names: [NAME] }),
      result: /^tls-untrusted: the certificate is signed by an authority that is not trusted$/,
    },
    {
      name: "the purpose of a client",
      issue: () => probing.authority.issue({ names: [NAME], clientAuth: true }),
      result: /^tls-untrusted: the certificate is not meant for servers: its extended key usage lacks serverAuth$/,
    },
  ];

  describe.each(bad)("given a certificate with $name", ({ issue, result }) => {
    test("tells, before a request or a token is sent", async () => {
      const peer = await startPeer(ok, tls(await issue()));
      const found = await probe(https(peer.port));
      expect(said(found)).toMatch(result);
      expect(found.certificateExpiryMs).toBeTypeOf("number");
      await waitUntil(() => peer.accepted === 1 && peer.open === 0, { describe: "the connection to be released" });
      expect(peer.received).toBe("");
    });

    test("passes with insecureSkipVerify", async () => {
      const peer = await startPeer(ok, tls(await issue()));
      expect((await probe(https(peer.port, { insecureSkipVerify: true }))).class).toBe("ok");
    });
  });

  test("tells when a certificate is self-signed", async () => {
    const { certPem, keyPem } = await selfSigned(NAME);
    const peer = await startPeer(ok, { cert: certPem, key: keyPem });
    expect(said(await probe(https(peer.port)))).toBe("tls-untrusted: the certificate is self-signed");
  });

  test("tells when the handshake stalls, and lets go of the connection", async () => {
    const peer = await startPeer(() => {});
    const found = await probe(https(peer.port, SHORT));
    expect(said(found)).toBe("timeout: no TLS handshake within 700 ms");
    await waitUntil(() => peer.open === 0, { describe: "the connection to be released" });
  });

  test("tells when the response stalls, with the certificate's end all the same", async () => {
    const peer = await startPeer(() => {}, tls(probing.good));
    const found = await probe(https(peer.port, SHORT));
    expect(said(found)).toBe("timeout: no response within 700 ms");
    expect(found.certificateExpiryMs).toBeTypeOf("number");
  });

  test("tells a reset and an early end during the handshake", async () => {
    const reset = await startPeer((socket) => socket.once("data", () => socket.resetAndDestroy()));
    expect(said(await probe(https(reset.port)))).toBe("reset: connection reset by the server before the TLS handshake");
    const end = await startPeer((socket) => socket.once("data", () => socket.end()));
    expect(said(await probe(https(end.port)))).toBe("reset: connection closed by the server before the TLS handshake");
  });

  test("tells when nothing listens", async () => {
    expect((await probe(https(await closedPort()))).class).toBe("refused");
  });

  test.each([
    ["HTTP", "HTTP/1.0 400 Bad Request\r\n\r\n"],
    ["SSH", "SSH-2.0-OpenSSH_9.9\r\n"],
  ])("tells when the port speaks %s", async (_name, text) => {
    const peer = await startPeer(answering(text));
    expect(said(await probe(https(peer.port)))).toBe("tls-protocol: the server does not speak TLS on this port");
  });

  test("tells when the server knows only old versions of TLS", async () => {
    const peer = await startPeer(ok, {
      ...tls(probing.good),
      minVersion: "TLSv1.1",
      maxVersion: "TLSv1.1",
      ciphers: "DEFAULT@SECLEVEL=0",
    });
    expect(said(await probe(https(peer.port)))).toMatch(/^tls-protocol: the server .*no TLS version of 1\.2 or newer$/);
  });

  test("tells when there are no common ciphers", async () => {
    const peer = await startPeer(ok, { ...tls(probing.good), maxVersion: "TLSv1.2", ciphers: "AES128-SHA" });
    expect((await probe(https(peer.port))).class).toBe("tls-protocol");
  });

  describe.each(["TLSv1.2", "TLSv1.3"] as const)(
    "with a server that demands a client certificate over %s",
    (version) => {
      const strict = () => ({
        ...tls(probing.good),
        ca: probing.authority.caPem,
        requestCert: true,
        rejectUnauthorized: true,
        minVersion: version,
        maxVersion: version,
      });

      test("passes with one", async () => {
        const peer = await startPeer(ok, strict());
        const clientCertificate = { cert: files.cert, key: files.key };
        expect(said(await probe(https(peer.port, { clientCertificate })))).toBe("ok: status 200");
      });

      test("fails without", async () => {
        const peer = await startPeer(ok, strict());
        const found = await probe(https(peer.port));
        if (version === "TLSv1.2") {
          // OpenSSL's alert says no more than that the handshake failed.
          expect(said(found)).toMatch(/^tls-protocol: .* or it demands a client certificate$/);
        } else {
          // The alert comes after the handshake, and may lose against the reset that follows it.
          expect(said(found)).toMatch(/^(?:auth-required: the server demands a client certificate|reset: .*)$/);
        }
      });
    },
  );

  test("says whose fault a missing file is", async () => {
    const peer = await startPeer(ok, tls(probing.good));
    const found = await probe(https(peer.port, { ca: join(folder, "missing.crt") }));
    expect(said(found)).toMatch(/^unreachable: the probe could not be made: cannot read .*missing\.crt: ENOENT/);
    expect(peer.accepted).toBe(0);
  });

  test.each([1, 3, 10, 30])("survives a connection cut at any point: %i octets", async (octets) => {
    const peer = await startPeer((socket) =>
      socket.once("data", () => socket.end(Buffer.from("16030300310200002d0303", "hex").subarray(0, octets))),
    );
    expect((await probe(https(peer.port))).class).toMatch(/^(?:reset|tls-protocol)$/);
  });
});
