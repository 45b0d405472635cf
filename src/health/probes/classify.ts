import type { PeerCertificate } from "node:tls";
import { codeOf, messageOf } from "../../lib/errors.js";
import type { ResultClass } from "../health.js";
import { plain } from "./attempt.js";
import { type CertificateFault, UNSPECIFIED, UNSUPPORTED_KEY } from "./tls.js";

/** What was found, before it is known how long it took. */
export interface Finding {
  readonly class: ResultClass;
  /** In plain words; may hold what came from the network, and is cut later. */
  readonly reason: string;
}

/** By the code of a system error. Node names them as errno(3) does. */
const SYSTEM_ERRORS: Readonly<Record<string, Finding>> = {
  ECONNREFUSED: { class: "refused", reason: "connection refused: nothing listens on the port" },
  ECONNRESET: { class: "reset", reason: "connection reset by the server" },
  ECONNABORTED: { class: "reset", reason: "connection aborted" },
  EPIPE: { class: "reset", reason: "connection closed by the server" },
  ETIMEDOUT: { class: "timeout", reason: "the network gave up on the connection" },
  EHOSTUNREACH: { class: "unreachable", reason: "no route to the host, or no host at the address" },
  EHOSTDOWN: { class: "unreachable", reason: "the host is down" },
  ENETUNREACH: { class: "unreachable", reason: "no route to the network" },
  ENETDOWN: { class: "unreachable", reason: "the network interface is down" },
  EACCES: { class: "unreachable", reason: "forbidden by this machine's firewall or policy" },
  EPERM: { class: "unreachable", reason: "forbidden by this machine's firewall or policy" },
  EADDRNOTAVAIL: { class: "unreachable", reason: "this machine has no address or port left to probe from" },
  EMFILE: { class: "unreachable", reason: "this process may open no more files: raise its limit" },
  ENFILE: { class: "unreachable", reason: "this machine can open no more files" },
  ENOBUFS: { class: "unreachable", reason: "this machine has no network buffers left" },
  ENOMEM: { class: "unreachable", reason: "this machine has no memory left" },
};

/** By the name of an OpenSSL error, as Node puts it after `ERR_SSL_`; alerts carry the peer's word for it. */
const TLS_ERRORS: Readonly<Record<string, Finding>> = {
  WRONG_VERSION_NUMBER: { class: "tls-protocol", reason: "the server does not speak TLS on this port" },
  PACKET_LENGTH_TOO_LONG: { class: "tls-protocol", reason: "the server does not speak TLS on this port" },
  RECORD_TOO_SMALL: { class: "tls-protocol", reason: "the server does not speak TLS on this port" },
  HTTP_REQUEST: { class: "tls-protocol", reason: "the server does not speak TLS on this port" },
  UNSUPPORTED_PROTOCOL: { class: "tls-protocol", reason: "the server offers no TLS version of 1.2 or newer" },
  TLSV1_ALERT_PROTOCOL_VERSION: { class: "tls-protocol", reason: "the server accepts no TLS version of 1.2 or newer" },
  SSLV3_ALERT_HANDSHAKE_FAILURE: {
    class: "tls-protocol",
    reason: "the server refused the TLS handshake: nothing in common, or it demands a client certificate",
  },
  SSL_TLS_ALERT_HANDSHAKE_FAILURE: {
    class: "tls-protocol",
    reason: "the server refused the TLS handshake: nothing in common, or it demands a client certificate",
  },
  NO_PROTOCOLS_AVAILABLE: { class: "tls-protocol", reason: "no common TLS version" },
  DH_KEY_TOO_SMALL: { class: "tls-protocol", reason: "the server's Diffie-Hellman key is too small" },
  TLSV1_UNRECOGNIZED_NAME: { class: "tls-name-mismatch", reason: "the server does not know the name it was asked for" },
  TLSV1_ALERT_UNKNOWN_CA: {
    class: "auth-required",
    reason: "the server does not trust the authority of the probe's client certificate",
  },
  TLSV13_ALERT_CERTIFICATE_REQUIRED: { class: "auth-required", reason: "the server demands a client certificate" },
  SSLV3_ALERT_BAD_CERTIFICATE: {
    class: "auth-required",
    reason: "the server did not accept the probe's client certificate",
  },
  SSLV3_ALERT_CERTIFICATE_EXPIRED: { class: "auth-required", reason: "the probe's client certificate has expired" },
  SSLV3_ALERT_CERTIFICATE_REVOKED: { class: "auth-required", reason: "the probe's client certificate was revoked" },
  SSLV3_ALERT_CERTIFICATE_UNKNOWN: {
    class: "auth-required",
    reason: "the server did not accept the probe's client certificate",
  },
  SSLV3_ALERT_UNSUPPORTED_CERTIFICATE: {
    class: "auth-required",
    reason: "the server did not accept the kind of the probe's client certificate",
  },
};

/** By the code of llhttp, Node's HTTP parser. Those left out are told in its own words. */
const HTTP_ERRORS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "the response's header is larger than 16 KiB",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "a chunk's extensions are larger than 16 KiB",
  HPE_INVALID_CONSTANT: "the response is not HTTP",
  HPE_INVALID_VERSION: "the response is of an unknown HTTP version",
  HPE_INVALID_CHUNK_SIZE: "the response's chunks are malformed",
};

/**
 * Names what went wrong with a connection.
 *
 * @param awaited what was being waited for, as in {@link Attempt.awaited}; completes the reason of a reset
 */
export function classifyError(error: unknown, awaited: string): Finding {
  const code = codeOf(error);
  const system = SYSTEM_ERRORS[code];
  if (system !== undefined) {
    if (system.class !== "reset") return system;
    // Node gives the code of a reset to an orderly end that came too early as well, but then no system call.
    const closed = code === "ECONNRESET" && !(error instanceof Error && "syscall" in error);
    const reason = closed ? "connection closed by the server" : system.reason;
    return { class: "reset", reason: `${reason} before the ${awaited}` };
  }
  if (code.startsWith("HPE_")) {
    return { class: "malformed-response", reason: HTTP_ERRORS[code] ?? `malformed response: ${messageOf(error)}` };
  }
  const tls = tlsErrorName(error, code);
  if (tls !== undefined) {
    const words = tls.toLowerCase().replaceAll("_", " ");
    return TLS_ERRORS[tls] ?? { class: "tls-protocol", reason: `the TLS handshake failed: ${words}` };
  }
  return { class: "unreachable", reason: `the probe could not be made: ${messageOf(error)}` };
}

/** `WRONG_VERSION_NUMBER` of `ERR_SSL_WRONG_VERSION_NUMBER`, or of an `EPROTO` whose `reason` OpenSSL worded. */
function tlsErrorName(error: unknown, code: string): string | undefined {
  if (code.startsWith("ERR_SSL_")) return code.slice("ERR_SSL_".length);
  if (code !== "EPROTO" && !code.startsWith("ERR_OSSL_") && !code.startsWith("ERR_TLS_")) return undefined;
  const reason = error instanceof Error && "reason" in error && typeof error.reason === "string" ? error.reason : code;
  return reason.toUpperCase().replaceAll(" ", "_");
}

/** By the code of OpenSSL's verification, as Node gives it; those left out are told by their code. */
const UNTRUSTED: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "the certificate is signed by an authority that is not trusted",
  UNABLE_TO_GET_ISSUER_CERT: "the certificate is signed by an authority that is not trusted",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "the certificate is signed by an authority that is not trusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the certificate is signed by an authority that is not trusted",
  CERT_SIGNATURE_FAILURE: "the certificate's signature does not fit the authority's key",
  CERT_REVOKED: "the certificate was revoked",
  INVALID_CA: "the certificate is signed by one that may not sign",
  PATH_LENGTH_EXCEEDED: "the certificate's chain is longer than its authority allows",
};

/** By OpenSSL's words for what Node has no code for (X509_verify_cert_error_string); those left out are told as they are. */
const UNTRUSTED_WORDS: Readonly<Record<string, string>> = {
  "CA signature digest algorithm too weak":
    "the certificate, or one that it stands on, is signed with SHA-1 or MD5, which clients refuse: issue it with SHA-256",
  "EE certificate key too weak": "the certificate's key is too short",
  "CA certificate key too weak": "the key of an authority is too short",
  "permitted subtree violation": "its authority may not sign for one of its names (name constraints)",
  "excluded subtree violation": "its authority may not sign for one of its names (name constraints)",
  "unsupported name constraint type": "its authority has name constraints of an unknown kind",
  "unsupported or invalid name constraint syntax": "its authority has name constraints that are malformed",
  "key usage does not include certificate signing": "an authority's key usage does not include keyCertSign",
  "unhandled critical extension": "it, or an authority, has a critical extension that is not known",
};

/** Extended key usage of servers (RFC 5280 §4.2.1.12). */
const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";

/**
 * Names what is wrong with a certificate.
 *
 * @param nowMs wall clock, for saying which certificate of the chain is out of date
 */
export function classifyCertificate(
  fault: CertificateFault,
  certificate: CertificateParts,
  serverName: string,
  nowMs: number,
): Finding {
  switch (fault.code) {
    case "ERR_TLS_CERT_ALTNAME_INVALID":
    case "HOSTNAME_MISMATCH":
      return {
        class: "tls-name-mismatch",
        reason: `the certificate is not for ${plain(serverName, 80)} but for ${altNames(certificate.subjectaltname)}`,
      };
    case "CERT_HAS_EXPIRED": {
      const endedMs = Date.parse(certificate.valid_to);
      const reason =
        endedMs <= nowMs ? `the certificate expired on ${moment(endedMs, nowMs)}` : "its authority has expired";
      return { class: "tls-expired", reason };
    }
    case "CERT_NOT_YET_VALID": {
      const beginsMs = Date.parse(certificate.valid_from);
      const reason =
        beginsMs > nowMs
          ? `the certificate is not valid before ${moment(beginsMs, nowMs)}`
          : "its authority is not valid yet";
      return { class: "tls-expired", reason };
    }
    default:
      return { class: "tls-untrusted", reason: whyUntrusted(fault, certificate) };
  }
}

/** The parts of a certificate that reasons tell. */
export type CertificateParts = Pick<PeerCertificate, "valid_from" | "valid_to" | "subjectaltname"> &
  Partial<Pick<PeerCertificate, "ext_key_usage">>;

function whyUntrusted({ code, detail }: CertificateFault, { ext_key_usage: usage }: CertificateParts): string {
  switch (code) {
    case UNSUPPORTED_KEY:
      return `the certificate's key is ${detail}, which kubectl cannot use: use RSA up to 8192 bits, ECDSA P-256, P-384 or P-521, or Ed25519`;
    case "INVALID_PURPOSE":
    case "CERT_REJECTED":
      // OpenSSL says the same of a server's certificate and of an authority.
      return usage !== undefined && !usage.includes(SERVER_AUTH)
        ? "the certificate is not meant for servers: its extended key usage lacks serverAuth"
        : "an authority may not sign servers' certificates: it lacks basicConstraints CA:TRUE, or serverAuth";
    case UNSPECIFIED:
      return detail === undefined
        ? `the certificate is not trusted: ${code}`
        : (UNTRUSTED_WORDS[detail] ?? `the certificate is not trusted: ${detail}`);
    default:
      return UNTRUSTED[code] ?? `the certificate is not trusted: ${code}`;
  }
}

/** `a.example, 192.0.2.1` of Node's `DNS:a.example, IP Address:192.0.2.1`. */
function altNames(subjectAltName: string | undefined): string {
  if (subjectAltName === undefined || subjectAltName === "") return "no name at all";
  return plain(subjectAltName.replace(/(?:DNS|IP Address|URI|email):/g, ""), 90);
}

/** The day, and on that very day the time too: `2026-12-02`, `2026-12-02 14:05 UTC`. */
function moment(ms: number, nowMs: number): string {
  const text = new Date(ms).toISOString();
  const day = text.slice(0, 10);
  return day === new Date(nowMs).toISOString().slice(0, 10) ? `${day} ${text.slice(11, 16)} UTC` : day;
}
