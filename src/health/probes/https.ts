import type { SecureContext, TLSSocket } from "node:tls";
import type { HttpsProbeConfig } from "../../config/config.js";
import type { Clock } from "../../lib/clock.js";
import type { Attempt } from "./attempt.js";
import { classifyCertificate, classifyError } from "./classify.js";
import type { ProbeFiles } from "./files.js";
import { exchange } from "./http.js";
import type { CertificateFacts, Sessions } from "./sessions.js";
import { type CertificateFault, connectTls, verificationFault } from "./tls.js";

/** Longest list of alternative names that is kept, characters; a kube-apiserver's is about 300. */
const MAX_ALT_NAMES = 4096;

/** What one https probe works with. */
interface HttpsProbe {
  readonly address: string;
  readonly config: HttpsProbeConfig;
  readonly files: ProbeFiles;
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly attempt: Attempt;
  readonly token: string | undefined;
}

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
  const [credentials, token] = await Promise.all([
    files.secureContext(config, address),
    files.token(config.bearerTokenFile),
  ]);
  if (attempt.ended) return;
  ask({ address, config, files, sessions, clock, attempt, token }, credentials);
}

/** Connections after the first that one probe may make to try another authority. Behind a balancer, each may present another certificate. */
const MAX_MORE_TRIES = 2;

/**
 * Makes the connection and asks over it.
 *
 * @param triesLeft connections that may be made after it, with another authority
 */
function ask(probe: HttpsProbe, credentials: SecureContext, triesLeft = MAX_MORE_TRIES): void {
  const { address, config, sessions, attempt, token } = probe;
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
  if (config.resumeTls === true && session === undefined) keepSession(probe, socket, credentials);
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
      if (fault === undefined) exchange(socket, config, 443, token, attempt);
      else refuse(probe, socket, fault, triesLeft);
    }),
  );
}

/** Keeps the session of a connection, once it has one and its certificate was found good. */
function keepSession(
  { address, config, sessions, attempt }: HttpsProbe,
  socket: TLSSocket,
  credentials: SecureContext,
) {
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

/** Ends the attempt because of a certificate; or asks again, if another authority of the same name signed it. */
function refuse(probe: HttpsProbe, socket: TLSSocket, fault: CertificateFault, triesLeft: number): void {
  const { address, config, files, clock, attempt } = probe;
  const certificate = socket.getPeerCertificate();
  const leaf = socket.getPeerX509Certificate();
  // A closing alert instead of a cut connection: the handshake was completed, and the server need not log it.
  socket.end();
  const isOther = !socket.authorized && triesLeft > 0 && files.chooseAuthority(config, address, leaf);
  if (!isOther) {
    if (fault.code === "CERT_NOT_YET_VALID") {
      attempt.certificate = { ...attempt.certificate, certificateNotYetValid: true };
    }
    const found = classifyCertificate(fault, certificate, config.serverName, clock.wallMs());
    attempt.end(found.class, found.reason);
    return;
  }
  socket.removeAllListeners("error").on("error", () => {});
  files.secureContext(config, address).then(
    (other) => {
      if (!attempt.ended) ask(probe, other, triesLeft - 1);
    },
    (error: unknown) => attempt.fail(error),
  );
}

function factsOf(socket: TLSSocket): CertificateFacts {
  const certificate = socket.getPeerCertificate();
  const certificateExpiryMs = Date.parse(certificate.valid_to ?? "");
  if (Number.isNaN(certificateExpiryMs)) return {};
  return { certificateExpiryMs, certificateNames: (certificate.subjectaltname ?? "").slice(0, MAX_ALT_NAMES) };
}
