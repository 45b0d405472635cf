import { isIP } from "node:net";
import { checkServerIdentity, connect, type TLSSocket } from "node:tls";
import type { HttpsProbeConfig } from "../../config/config.js";
import type { Clock } from "../../lib/clock.js";
import type { Attempt } from "./attempt.js";
import { classifyCertificate, classifyError } from "./classify.js";
import type { ProbeFiles } from "./files.js";
import { exchange } from "./http.js";

/**
 * Asks over TLS. The certificate is judged before a single octet of the request is sent, so that a token never
 * reaches a stranger.
 */
export async function probeHttps(
  address: string,
  config: HttpsProbeConfig,
  files: ProbeFiles,
  clock: Clock,
  attempt: Attempt,
): Promise<void> {
  const [credentials, token] = await Promise.all([files.secureContext(config), files.token(config.bearerTokenFile)]);
  if (attempt.ended) return;
  const socket = connect({
    host: address,
    port: config.port,
    secureContext: credentials,
    // RFC 6066 §3: an address is no server name.
    servername: isIP(config.serverName) === 0 ? config.serverName : "",
    checkServerIdentity: (_host, certificate) => checkServerIdentity(config.serverName, certificate),
    // The probe judges by itself below: Node would throw away the certificate whose date and names the reason gives.
    rejectUnauthorized: false,
    ALPNProtocols: ["http/1.1"],
  });
  attempt.onEnd(() => socket.destroy());
  socket.on("error", (error) => {
    const { class: resultClass, reason } = classifyError(error, attempt.phase);
    attempt.end(resultClass, reason);
  });
  socket.once("connect", () => {
    attempt.phase = "TLS handshake";
  });
  socket.once(
    "secureConnect",
    attempt.guard(() => {
      const certificate = socket.getPeerCertificate();
      const expiryMs = Date.parse(certificate.valid_to ?? "");
      if (!Number.isNaN(expiryMs)) attempt.certificateExpiryMs = expiryMs;
      if (socket.authorized || config.insecureSkipVerify) {
        exchange(socket, config, 443, token, attempt);
        return;
      }
      const found = classifyCertificate(verificationCode(socket), certificate, config.serverName, clock.wallMs());
      // A closing alert instead of a cut connection: the handshake was completed, and the server need not log it.
      socket.end();
      attempt.end(found.class, found.reason);
    }),
  );
}

/** Node gives the code where its types say an Error. */
function verificationCode(socket: TLSSocket): string {
  const error: unknown = socket.authorizationError;
  return error instanceof Error ? error.message : String(error);
}
