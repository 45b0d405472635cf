import { KeyObject, randomBytes, webcrypto } from "node:crypto";
import { isIP } from "node:net";
import "reflect-metadata";
import * as x509 from "@peculiar/x509";

/** `ec` is P-256, `rsa` has 2048 bits. */
export type KeyType = "ec" | "rsa" | "ed25519";

/** What a new authority is like. */
export interface AuthorityOptions {
  /** Common name of the authority. Default: `livezone demo CA`. */
  readonly commonName?: string;
  /** Default `ec`. */
  readonly keyType?: KeyType;
  /** Start of validity. Default: one day ago, so that clocks that are a little behind accept it. */
  readonly notBefore?: Date;
  /** End of validity. Default: in a year. */
  readonly notAfter?: Date;
}

/** What a certificate is for. */
export interface CertificateRequest {
  /** DNS names and IP addresses, as subject alternative names; the first is the common name too. At least one. */
  readonly names: readonly string[];
  /** Start of validity. Default: one day ago. May lie in the future. */
  readonly notBefore?: Date;
  /** End of validity. Default: in a year. May lie in the past: an expired certificate. */
  readonly notAfter?: Date;
  /** Default `ec`, the fastest to make. */
  readonly keyType?: KeyType;
  /** For a client instead of a server (extended key usage). Default false. */
  readonly clientAuth?: boolean;
}

/** A certificate and its private key, both PEM; the key is PKCS #8, unencrypted. */
export interface IssuedCertificate {
  readonly certPem: string;
  readonly keyPem: string;
}

/** A certificate authority that lives in memory only. */
export interface Authority {
  /** The authority's own certificate, PEM: what a client is to trust. */
  readonly caPem: string;
  /** Makes a key and a certificate for it, signed by this authority. */
  issue(request: CertificateRequest): Promise<IssuedCertificate>;
}

const DAY_MS = 86_400_000;

const GENERATE: Record<KeyType, webcrypto.RsaHashedKeyGenParams | webcrypto.EcKeyGenParams | webcrypto.Algorithm> = {
  ec: { name: "ECDSA", namedCurve: "P-256" },
  rsa: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) },
  ed25519: { name: "Ed25519" },
};

const SIGN: Record<KeyType, webcrypto.Algorithm | webcrypto.EcdsaParams> = {
  ec: { name: "ECDSA", hash: "SHA-256" },
  rsa: { name: "RSASSA-PKCS1-v1_5" },
  ed25519: { name: "Ed25519" },
};

/**
 * Makes a certificate authority on the fly, for the demo and for tests. Nothing is written to disk, and the
 * authority's key cannot be exported.
 */
export async function createAuthority(options: AuthorityOptions = {}): Promise<Authority> {
  const keyType = options.keyType ?? "ec";
  const keys = await generateKeys(keyType, false);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: [{ CN: [options.commonName ?? "livezone demo CA"] }],
      serialNumber: newSerialNumber(),
      ...validity(options),
      keys,
      signingAlgorithm: SIGN[keyType],
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );

  return {
    caPem: toPem(certificate),
    issue: (request) => issue({ certificate, keys, keyType }, request),
  };
}

interface Issuer {
  readonly certificate: x509.X509Certificate;
  readonly keys: webcrypto.CryptoKeyPair;
  readonly keyType: KeyType;
}

async function issue(issuer: Issuer, request: CertificateRequest): Promise<IssuedCertificate> {
  const commonName = request.names[0];
  if (commonName === undefined) throw new RangeError("a certificate needs at least one name");
  const keys = await generateKeys(request.keyType ?? "ec", true);
  const certificate = await x509.X509CertificateGenerator.create(
    {
      subject: [{ CN: [commonName] }],
      issuer: issuer.certificate.subjectName,
      serialNumber: newSerialNumber(),
      ...validity(request),
      publicKey: keys.publicKey,
      signingKey: issuer.keys.privateKey,
      signingAlgorithm: SIGN[issuer.keyType],
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([
          request.clientAuth ? x509.ExtendedKeyUsage.clientAuth : x509.ExtendedKeyUsage.serverAuth,
        ]),
        new x509.SubjectAlternativeNameExtension(
          request.names.map((value) => ({ type: isIP(value) === 0 ? "dns" : "ip", value })),
        ),
        await x509.AuthorityKeyIdentifierExtension.create(issuer.keys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
  const keyPem = KeyObject.from(keys.privateKey).export({ type: "pkcs8", format: "pem" });
  return { certPem: toPem(certificate), keyPem: keyPem.toString() };
}

async function generateKeys(keyType: KeyType, extractable: boolean): Promise<webcrypto.CryptoKeyPair> {
  const keys = await webcrypto.subtle.generateKey(GENERATE[keyType], extractable, ["sign", "verify"]);
  if (!("privateKey" in keys)) throw new TypeError(`no key pair for ${keyType}`);
  return keys;
}

function validity(wish: { readonly notBefore?: Date; readonly notAfter?: Date }) {
  const now = Date.now();
  const notAfter = wish.notAfter ?? new Date(now + 365 * DAY_MS);
  // An end in the past needs a start before it, or the certificate would contradict itself.
  const notBefore = wish.notBefore ?? new Date(Math.min(now, notAfter.getTime()) - DAY_MS);
  return { notBefore, notAfter };
}

/** Positive, not zero, at most 20 octets (RFC 5280 §4.1.2.2): 16 random octets with the top bits 01. */
function newSerialNumber(): string {
  const octets = randomBytes(16);
  octets[0] = ((octets[0] ?? 0) & 0x3f) | 0x40;
  return octets.toString("hex");
}

function toPem(certificate: x509.X509Certificate): string {
  return `${certificate.toString("pem").trimEnd()}\n`;
}
