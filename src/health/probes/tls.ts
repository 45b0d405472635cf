import { isIP } from "node:net";
import { checkServerIdentity, connect, type PeerCertificate, type SecureContext, type TLSSocket } from "node:tls";
import type { HttpsProbeConfig } from "../../config/config.js";

/**
 * Opens a TLS connection to an address. The certificate is not judged: the caller does so before it sends anything,
 * since Node would throw away the certificate whose date and names the reason gives.
 */
export function connectTls(address: string, config: HttpsProbeConfig, credentials: SecureContext): TLSSocket {
  return connect({
    host: address,
    port: config.port,
    secureContext: credentials,
    // RFC 6066 §3: an address is no server name.
    servername: isIP(config.serverName) === 0 ? config.serverName : "",
    checkServerIdentity: (_host, certificate) => checkServerIdentity(config.serverName, certificate),
    rejectUnauthorized: false,
    ALPNProtocols: ["http/1.1"],
  });
}

/** What verification found wrong with the certificate, as OpenSSL or Node names it; undefined = nothing. */
export function verificationFault(socket: TLSSocket, config: HttpsProbeConfig): string | undefined {
  if (socket.authorized || config.insecureSkipVerify) return undefined;
  // Node gives the code where its types say an Error.
  const error: unknown = socket.authorizationError;
  return error instanceof Error ? error.message : String(error);
}

/**
 * Whether a certificate is good for a name.
 *
 * @param altNames its alternative names in Node's spelling: `DNS:api.example.com, IP Address:192.0.2.1`
 */
export function coversName(altNames: string, name: string): boolean {
  const certificate = { subject: {}, subjectaltname: altNames } as PeerCertificate;
  return checkServerIdentity(name, certificate) === undefined;
}
