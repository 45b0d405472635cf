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

/** What verification found wrong with the certificate, as OpenSSL or Node names it; undefined = nothing. */
export function verificationFault(socket: TLSSocket, config: HttpsProbeConfig): string | undefined {
  if (socket.authorized || config.insecureSkipVerify) return undefined;
  // Node gives the code where its types say an Error.
  const error: unknown = socket.authorizationError;
  return error instanceof Error ? error.message : String(error);
}

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
