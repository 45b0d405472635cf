import { isIP } from "node:net";
import { checkServerIdentity, connect, type PeerCertificate, type SecureContext, TLSSocket } from "node:tls";
import type { HttpsProbeConfig } from "../../config/config.js";

/**
 * Opens a TLS connection to an address. The certificate is not judged: the caller does so before it sends anything,
 * since Node would throw away the certificate whose date and names the reason gives.
 *
 * @param ticket a session to resume
 */
export function connectTls(
  address: string,
  config: HttpsProbeConfig,
  credentials: SecureContext,
  ticket?: Buffer,
): TLSSocket {
  const session = sessionOf(ticket);
  const socket = connect({
    host: address,
    port: config.port,
    secureContext: credentials,
    // RFC 6066 §3: an address is no server name.
    servername: isIP(config.serverName) === 0 ? config.serverName : "",
    checkServerIdentity: (_host, { subjectaltname = "" }) =>
      coversName(subjectaltname, config.serverName) ? undefined : nameMismatch(),
    rejectUnauthorized: false,
    ALPNProtocols: ["http/1.1"],
    ...session.option,
  });
  session.set(socket);
  // Node asks for the certificate with its whole chain to check the name, and the probe asks again: taking a
  // certificate apart is a sixth of the work of a probe, so it is done once, and without the chain.
  const take = socket.getPeerCertificate.bind(socket) as () => PeerCertificate;
  let taken: PeerCertificate | undefined;
  const takeOnce = () => {
    taken ??= take();
    return taken;
  };
  socket.getPeerCertificate = takeOnce as typeof socket.getPeerCertificate;
  return socket;
}

/**
 * How to give a session to a connection. As an option of `connect` Node takes it apart twice, some of the work of a
 * probe each time; its sockets have a method that does it once, which is not documented and may go.
 */
function sessionOf(ticket: Buffer | undefined) {
  const nothing = { option: {}, set: () => {} };
  if (ticket === undefined) return nothing;
  const { setSession } = TLSSocket.prototype as { setSession?: (this: TLSSocket, ticket: Buffer) => void };
  if (setSession === undefined) return { ...nothing, option: { session: ticket } };
  return { ...nothing, set: (socket: TLSSocket) => setSession.call(socket, ticket) };
}

/** What Node's own check of names returns. */
function nameMismatch(): Error {
  return Object.assign(new Error("ERR_TLS_CERT_ALTNAME_INVALID"), { code: "ERR_TLS_CERT_ALTNAME_INVALID" });
}

/** What is wrong with a certificate. */
export interface CertificateFault {
  /** As OpenSSL or Node names it, or {@link UNSUPPORTED_KEY}. */
  readonly code: string;
  /** OpenSSL's words where Node has no code of its own; the kind of an unsupported key. */
  readonly detail?: string;
}

/** The code of a certificate whose key kubectl and other Go clients cannot use. */
export const UNSUPPORTED_KEY = "UNSUPPORTED_KEY";

/** Where Node has no code for what OpenSSL found. */
export const UNSPECIFIED = "UNSPECIFIED";

/** What is wrong with the certificate that was presented; undefined = nothing, or nothing is to be verified. */
export function verificationFault(socket: TLSSocket, config: HttpsProbeConfig): CertificateFault | undefined {
  if (config.insecureSkipVerify) return undefined;
  if (socket.authorized) {
    const kind = unsupportedKey(socket);
    return kind === undefined ? undefined : { code: UNSUPPORTED_KEY, detail: kind };
  }
  // Node gives the code where its types say an Error.
  const error: unknown = socket.authorizationError;
  const code = error instanceof Error ? error.message : String(error);
  const detail = code === UNSPECIFIED ? wordsOfOpenssl(socket) : undefined;
  return { code, ...(detail === undefined ? {} : { detail }) };
}

/** OpenSSL's words for what it found. The way to them is not documented and may go; the code is told then. */
function wordsOfOpenssl(socket: TLSSocket): string | undefined {
  const { ssl } = socket as { ssl?: { verifyError?(): unknown } };
  const error = ssl?.verifyError?.();
  return error instanceof Error ? error.message : undefined;
}

/** Elliptic curves whose keys Go knows (crypto/x509, parsePublicKey). */
const GO_CURVES: ReadonlySet<string> = new Set(["prime256v1", "secp224r1", "secp384r1", "secp521r1"]);

/** Longest RSA key that Go's TLS accepts, bits (crypto/tls, checkKeySize). */
const GO_MAX_RSA_BITS = 8192;

/**
 * The kind of the server's key if OpenSSL can use it and Go cannot: a key that may only make RSA-PSS signatures
 * (id-RSASSA-PSS, RFC 4055 §3.1), Ed448, other curves, or an RSA key of more than 8192 bits.
 *
 * @returns undefined if Go can use it, or if a session was resumed, whose certificate was judged before
 */
function unsupportedKey(socket: TLSSocket): string | undefined {
  const { modulus, bits = 0, asn1Curve } = socket.getPeerCertificate() as Partial<PeerCertificate>;
  if (modulus !== undefined) return bits > GO_MAX_RSA_BITS ? `RSA of ${bits} bits` : undefined;
  if (asn1Curve !== undefined) return GO_CURVES.has(asn1Curve) ? undefined : `ECDSA on the curve ${asn1Curve}`;
  // Of all other kinds Node tells nothing there. They are rare, so taking the certificate apart once more costs little.
  const kind = socket.getPeerX509Certificate()?.publicKey.asymmetricKeyType;
  return kind === undefined || kind === "ed25519" ? undefined : (KEY_KINDS[kind] ?? kind);
}

/** Kinds of keys as people write them. */
const KEY_KINDS: Readonly<Record<string, string>> = { "rsa-pss": "RSA-PSS", ed448: "Ed448", dsa: "DSA" };

/**
 * Whether a certificate is good for a name or an address, as Go judges it (crypto/x509, VerifyHostname), and so kubectl:
 * by alternative names alone, never by the common name; a star stands for the whole leftmost label (RFC 6125 §6.4.3); an
 * alternative name with a trailing dot is good for nothing.
 *
 * @param altNames its alternative names in Node's spelling: `DNS:api.example.com, IP Address:192.0.2.1`
 */
export function coversName(altNames: string, name: string): boolean {
  const names = altNames.split(", ");
  if (isIP(name) !== 0) {
    const certificate = { subject: {}, subjectaltname: altNames } as PeerCertificate;
    return checkServerIdentity(name, certificate) === undefined;
  }
  const wanted = name.toLowerCase();
  const parent = wanted.slice(wanted.indexOf("."));
  return names.some((one) => {
    if (!one.startsWith("DNS:")) return false;
    const pattern = one.slice("DNS:".length).toLowerCase();
    return pattern === wanted || (pattern.startsWith("*.") && wanted.includes(".") && pattern.slice(1) === parent);
  });
}
