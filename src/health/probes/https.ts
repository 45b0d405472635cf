import type { HttpsProbeConfig } from "../../config/config.js";
import type { Clock } from "../../lib/clock.js";
import type { Attempt } from "./attempt.js";
import { classifyCertificate, classifyError } from "./classify.js";
import type { ProbeFiles } from "./files.js";
import { exchange } from "./http.js";
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
  clock: Clock,
  attempt: Attempt,
): Promise<void> {
  const [credentials, token] = await Promise.all([files.secureContext(config), files.token(config.bearerTokenFile)]);
  if (attempt.ended) return;
  const socket = connectTls(address, config, credentials);
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
      if (!Number.isNaN(expiryMs)) {
        const altNames = (certificate.subjectaltname ?? "").slice(0, MAX_ALT_NAMES);
        attempt.certificate = { certificateExpiryMs: expiryMs, certificateNames: altNames };
      }
      const fault = verificationFault(socket, config);
      if (fault === undefined) {
        exchange(socket, config, 443, token, attempt);
        return;
      }
      const found = classifyCertificate(fault, certificate, config.serverName, clock.wallMs());
      // A closing alert instead of a cut connection: the handshake was completed, and the server need not log it.
      socket.end();
      attempt.end(found.class, found.reason);
    }),
  );
}
