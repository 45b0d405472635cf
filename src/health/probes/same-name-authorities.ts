import { X509Certificate } from "node:crypto";
import type { SecureContext } from "node:tls";

/** Most servers whose choice is remembered. One that is forgotten costs one more handshake. */
const MAX_CHOICES = 4096;

/** Most certificates of a server that are looked at. Chains have two or three. */
const MAX_CHAIN = 8;

/** One certificate of a bundle. */
interface Authority {
  readonly pem: string;
  readonly certificate: X509Certificate;
  /** Of this authority without the others of its name; made when it is needed. */
  context?: SecureContext;
}

/**
 * A bundle in which several authorities have one name, as both of a rotation are called `kubernetes`.
 *
 * OpenSSL takes the first one that may fit by its name and key identifier. An authority without a subject key
 * identifier (RFC 5280 §4.2.1.2) always may. If its key does not fit the signature, OpenSSL tries no other one; Go
 * does, and so kubectl. Here the one whose key fits is looked for, and the server is asked again with it alone.
 */
export class SameNameAuthorities {
  readonly #authorities: readonly Authority[];
  readonly #makeContext: (ca: string) => SecureContext;
  /** By server. */
  readonly #chosen = new Map<string, Authority>();

  private constructor(authorities: readonly Authority[], makeContext: (ca: string) => SecureContext) {
    this.#authorities = authorities;
    this.#makeContext = makeContext;
  }

  /**
   * @param pems the certificates of the bundle
   * @param makeContext makes a context that trusts these certificates
   * @returns undefined where each name stands for one authority
   */
  static of(pems: readonly string[], makeContext: (ca: string) => SecureContext): SameNameAuthorities | undefined {
    const authorities = pems.map((pem) => ({ pem, certificate: new X509Certificate(pem) }));
    const names = new Set(authorities.map(({ certificate }) => certificate.subject));
    return names.size === authorities.length ? undefined : new SameNameAuthorities(authorities, makeContext);
  }

  /** The context that was chosen for a server, if one was. */
  contextFor(server: string): SecureContext | undefined {
    const chosen = this.#chosen.get(server);
    if (chosen === undefined) return undefined;
    const { subject } = chosen.certificate;
    chosen.context ??= this.#makeContext(
      this.#authorities
        .filter((one) => one === chosen || one.certificate.subject !== subject)
        .map(({ pem }) => pem)
        .join("\n"),
    );
    return chosen.context;
  }

  /**
   * Looks for the authority that signed what a server presented.
   *
   * @param leaf the server's certificate, with those that it sent along as its issuers
   * @returns whether another one is chosen for the server than before
   */
  choose(server: string, leaf: X509Certificate | undefined): boolean {
    let certificate = leaf;
    for (let count = 0; certificate !== undefined && count < MAX_CHAIN; count += 1) {
      const signed = certificate;
      const sameName = this.#authorities.filter((one) => one.certificate.subject === signed.issuer);
      const signer = sameName.find((one) => isSignedBy(signed, one.certificate));
      if (sameName.length > 1 && signer !== undefined) {
        if (this.#chosen.get(server) === signer) return false;
        if (this.#chosen.size >= MAX_CHOICES) this.#chosen.clear();
        this.#chosen.set(server, signer);
        return true;
      }
      certificate = signed.issuerCertificate;
    }
    return false;
  }
}

function isSignedBy(certificate: X509Certificate, authority: X509Certificate): boolean {
  try {
    return certificate.verify(authority.publicKey);
  } catch {
    // A key or a signature of a kind that is not known.
    return false;
  }
}
