import { webcrypto } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";
import "reflect-metadata";
import { X509Certificate } from "node:crypto";
import * as x509 from "@peculiar/x509";
import { beforeAll, describe, expect, test } from "vitest";
import { SameNameAuthorities } from "../../../src/health/probes/same-name-authorities.js";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** An authority without a key identifier, and a certificate of it. */
async function authority(name: string) {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const signing = { signingAlgorithm: ALGORITHM };
  const ca = await x509.X509CertificateGenerator.createSelfSigned(
    { name: `CN=${name}`, keys, ...signing, extensions: [new x509.BasicConstraintsExtension(true, undefined, true)] },
    webcrypto,
  );
  const leaf = await x509.X509CertificateGenerator.create(
    { subject: "CN=leaf", issuer: ca.subject, publicKey: keys.publicKey, signingKey: keys.privateKey, ...signing },
    webcrypto,
  );
  return { pem: ca.toString("pem"), leaf: new X509Certificate(leaf.toString("pem")) };
}

let old: Awaited<ReturnType<typeof authority>>;
let renewed: typeof old;
let stranger: typeof old;
let other: typeof old;
beforeAll(async () => {
  [old, renewed, stranger, other] = await Promise.all([
    authority("kubernetes"),
    authority("kubernetes"),
    authority("kubernetes"),
    authority("other"),
  ]);
});

/** A bundle that tells which certificates each context was made of. */
function bundle(...pems: readonly string[]) {
  const contents = new Map<SecureContext, string>();
  const sameName = SameNameAuthorities.of(pems, (ca) => {
    const context = createSecureContext({ ca });
    contents.set(context, ca);
    return context;
  });
  const trusted = (server: string) => contents.get(sameName?.contextFor(server) as SecureContext) ?? "";
  return { sameName, contents, trusted };
}

describe("authorities of one name", () => {
  test("are none where each has its own", () => {
    expect(bundle(old.pem, other.pem).sameName).toBeUndefined();
  });

  test("the one whose key fits is chosen for a server, and the others of its name are left out", () => {
    const { sameName, trusted } = bundle(old.pem, renewed.pem, other.pem);
    expect(sameName?.contextFor("cp1")).toBeUndefined();
    expect(sameName?.choose("cp1", renewed.leaf)).toBe(true);
    expect(sameName?.choose("cp2", old.leaf)).toBe(true);
    const texts = [trusted("cp1"), trusted("cp2")].map((text) => text.replaceAll("\n", ""));
    const has = (text: string | undefined, { pem }: typeof old) => text?.includes(pem.replaceAll("\n", ""));
    expect(texts.map((text) => [old, renewed, other].map((one) => has(text, one)))).toEqual([
      [false, true, true],
      [true, false, true],
    ]);
  });

  test("a choice is told as new once, and again when the server's certificate is of another", () => {
    const { sameName } = bundle(old.pem, renewed.pem);
    expect([old, old, renewed, renewed].map(({ leaf }) => sameName?.choose("cp1", leaf))).toEqual([
      ...[true, false],
      ...[true, false],
    ]);
  });

  test("none is chosen where no key fits, or nothing was presented", () => {
    const { sameName } = bundle(old.pem, renewed.pem);
    expect(sameName?.choose("cp1", stranger.leaf)).toBe(false);
    expect(sameName?.choose("cp1", other.leaf)).toBe(false);
    expect(sameName?.choose("cp1", undefined)).toBe(false);
    expect(sameName?.contextFor("cp1")).toBeUndefined();
  });

  test("one context serves all servers that have the same choice", () => {
    const { sameName, contents } = bundle(old.pem, renewed.pem);
    for (const server of ["cp1", "cp2", "cp3"]) sameName?.choose(server, old.leaf);
    expect(new Set(["cp1", "cp2", "cp3"].map((server) => sameName?.contextFor(server))).size).toBe(1);
    expect(contents.size).toBe(1);
  });
});
