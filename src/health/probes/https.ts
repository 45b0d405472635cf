import type { TLSSocket } from "node:tls";
import type { HttpsProbeConfig } from "../../config/config.js";
import type { Clock } from "../../lib/clock.js";
import type { Attempt } from "./attempt.js";
import { classifyCertificate, classifyError } from "./classify.js";
import type { ProbeFiles } from "./files.js";
import { exchange } from "./http.js";
import type { CertificateFacts, Sessions } from "./sessions.js";
import { connectTls, verificationFault } from "./tls.js";

/** Longest list of alternative names that is kept, characters; a kube-apiserver's is about 300. */
const MAX_ALT_NAMES = 4096;

/**
 * Asks over TLS. The certificate is judged before a single octet of the request is sent, so that a token never
 * reaches a stranger.
 */
export async function probeHttps(
  address: string,
  config: HttpsProbeConfig,
  files: ProbeFiles,
  sessions: Sessions,
  clock: Clock,
  attempt: Attempt,
): Promise<void> {
  const [credentials, token] = await Promise.all([files.secureContext(config), files.token(config.bearerTokenFile)]);
  if (attempt.ended) return;
  const session = config.resumeTls === true ? sessions.get(address, config, credentials) : undefined;
  const socket = connectTls(address, config, credentials, session?.ticket);
  attempt.onEnd(() => {
    if (session !== undefined && attempt.result !== "ok") sessions.drop(address, config);
    socket.destroy();
  });
  socket.on("error", (error) => {
    const { class: resultClass, reason } = classifyError(error, attempt.awaited);
    attempt.end(resultClass, reason);
  });
  socket.once("connect", () => {
    attempt.waitFor("tls", "TLS handshake");
  });
  const isNewWanted = config.resumeTls === true && session === undefined;
  if (isNewWanted) {
    socket.once("session", (ticket) => {
      // Over TLS 1.2 it comes before the certificate was judged.
      const keep = () => {
        if (!socket.authorized || attempt.certificate === undefined) return;
        sessions.keep(address, config, { ticket, credentials, facts: attempt.certificate });
      };
      if (attempt.certificate === undefined) socket.once("secureConnect", keep);
      else keep();
    });
  }
  socket.once(
    "secureConnect",
    attempt.guard(() => {
      if (session !== undefined && socket.isSessionReused()) {
        attempt.certificate = session.facts;
        exchange(socket, config, 443, token, attempt);
        return;
      }
      // The server did not want the session: the next probe makes one that it knows.
      if (session !== undefined) sessions.drop(address, config);
      attempt.certificate = factsOf(socket);
      const fault = verificationFault(socket, config);
      if (fault === undefined) {
        exchange(socket, config, 443, token, attempt);
        return;
      }
      const certificate = socket.getPeerCertificate();
      const found = classifyCertificate(fault, certificate, config.serverName, clock.wallMs());
      // A closing alert instead of a cut connection: the handshake was completed, and the server need not log it.
      socket.end();
      attempt.end(found.class, found.reason);
    }),
  );
}

function factsOf(socket: TLSSocket): CertificateFacts {
  const certificate = socket.getPeerCertificate();
  const certificateExpiryMs = Date.parse(certificate.valid_to ?? "");
  if (Number.isNaN(certificateExpiryMs)) return {};
  return { certificateExpiryMs, certificateNames: (certificate.subjectaltname ?? "").slice(0, MAX_ALT_NAMES) };
}
