import { HARD_RECHECK_MS } from "../../../src/health/state.js";

/** What livezone is to make of one behaviour; times with the default settings. */
export interface Expectation {
  /** As `peer.mjs` knows it, or as the network does it. */
  readonly behaviour: string;
  /** Result class; `ok` = the target stays up. */
  readonly class: string;
  /** Reason of the result; the day of a date is written as `<day>`. */
  readonly reason: string;
  /** Another reason that is as right: the same a moment earlier. */
  readonly orReason?: string;
  /** From the first probe that meets the behaviour to the withdrawal, as the thresholds have it. Absent: it stays up. */
  readonly confirmation?: "hard" | "expired" | "soft" | "hang" | "unconnected";
  /** The tripwire breaks, so that the first probe comes at once instead of within an interval. */
  readonly trips?: true;
  /** How it is made, if not by `peer.mjs`. */
  readonly by?: "network";
}

const TLS = (what: string) => `the certificate ${what}`;

export const EXPECTATIONS: readonly Expectation[] = [
  {
    behaviour: "kills itself (SIGKILL)",
    class: "refused",
    reason: "connection refused: nothing listens on the port",
    confirmation: "hard",
    trips: true,
  },
  {
    behaviour: "closes its listener and all connections",
    class: "refused",
    reason: "connection refused: nothing listens on the port",
    confirmation: "hard",
    trips: true,
  },
  {
    behaviour: "closes its listener, old connections live",
    class: "refused",
    reason: "connection refused: nothing listens on the port",
    confirmation: "hard",
  },
  { behaviour: "answers 500 with failing checks", class: "not-ready", reason: "not ready: etcd", confirmation: "hard" },
  { behaviour: "answers 503", class: "not-ready", reason: "not ready: status 503", confirmation: "hard" },
  {
    behaviour: "answers 500 and never ends the body",
    class: "not-ready",
    reason: "not ready: status 500",
    confirmation: "hard",
  },
  {
    behaviour: "stops itself (SIGSTOP)",
    class: "timeout",
    reason: "no TLS handshake within 3 s",
    confirmation: "hang",
  },
  {
    behaviour: "is behind a packet filter that drops",
    class: "timeout",
    reason: "no connection within 1.5 s",
    confirmation: "unconnected",
    by: "network",
  },
  { behaviour: "accepts and is silent", class: "timeout", reason: "no TLS handshake within 3 s", confirmation: "hang" },
  {
    behaviour: "stalls in the TLS handshake",
    class: "timeout",
    reason: "no TLS handshake within 3 s",
    confirmation: "hang",
  },
  {
    behaviour: "is silent after the request",
    class: "timeout",
    reason: "no response within 3 s",
    confirmation: "hang",
  },
  { behaviour: "drips the header", class: "timeout", reason: "no response within 3 s", confirmation: "hang" },
  { behaviour: "drips the body", class: "timeout", reason: "no complete response within 3 s", confirmation: "hang" },
  {
    behaviour: "answers 200 and hangs",
    class: "timeout",
    reason: "no complete response within 3 s",
    confirmation: "hang",
  },
  {
    behaviour: "resets after accepting",
    class: "reset",
    orReason: "connection reset by the server before the connection",
    reason: "connection reset by the server before the TLS handshake",
    confirmation: "soft",
  },
  {
    behaviour: "closes at once",
    class: "reset",
    reason: "connection closed by the server before the TLS handshake",
    confirmation: "soft",
  },
  {
    behaviour: "closes in the TLS handshake",
    class: "reset",
    reason: "connection closed by the server before the TLS handshake",
    confirmation: "soft",
  },
  {
    behaviour: "closes before it answers",
    class: "reset",
    reason: "connection closed by the server before the response",
    confirmation: "soft",
  },
  {
    behaviour: "resets before it answers",
    class: "reset",
    reason: "connection reset by the server before the response",
    confirmation: "soft",
  },
  {
    behaviour: "closes within the body",
    class: "reset",
    reason: "connection closed by the server before the complete response",
    confirmation: "soft",
  },
  {
    behaviour: "never ends the header",
    class: "malformed-response",
    reason: "the response's header is larger than 16 KiB",
    confirmation: "soft",
  },
  {
    behaviour: "sends garbage for chunks",
    class: "malformed-response",
    reason: "the response's chunks are malformed",
    confirmation: "soft",
  },
  { behaviour: "sends garbage", class: "malformed-response", reason: "the response is not HTTP", confirmation: "soft" },
  {
    behaviour: "redirects (301)",
    class: "unexpected-status",
    reason: "status 301: redirected to https://elsewhere.example/, which is not followed",
    confirmation: "soft",
  },
  { behaviour: "answers 404", class: "unexpected-status", reason: "status 404, expected 200", confirmation: "soft" },
  { behaviour: "answers 204", class: "unexpected-status", reason: "status 204, expected 200", confirmation: "soft" },
  {
    behaviour: "answers 401",
    class: "auth-required",
    reason: "status 401: anonymous requests are not allowed: the probe needs a client certificate or bearer token",
    confirmation: "soft",
  },
  {
    behaviour: "answers 403",
    class: "auth-required",
    reason: "status 403: the probe may not read /readyz",
    confirmation: "soft",
  },
  {
    behaviour: "demands a client certificate",
    class: "auth-required",
    reason: "the server demands a client certificate",
    confirmation: "soft",
  },
  {
    behaviour: "presents an expired certificate",
    class: "tls-expired",
    reason: TLS("expired on <day>"),
    confirmation: "expired",
  },
  {
    behaviour: "presents one that is not valid yet",
    class: "tls-expired",
    reason: TLS("is not valid before <day>"),
    confirmation: "expired",
  },
  {
    behaviour: "presents a self-signed certificate",
    class: "tls-untrusted",
    reason: TLS("is self-signed"),
    confirmation: "soft",
  },
  {
    behaviour: "presents one of another authority",
    class: "tls-untrusted",
    reason: TLS("is signed by an authority that is not trusted"),
    confirmation: "soft",
  },
  {
    behaviour: "presents one for another name",
    class: "tls-name-mismatch",
    reason: TLS("is not for api.k8s.example.com but for other.example.com"),
    confirmation: "soft",
  },
  {
    behaviour: "speaks no newer TLS than 1.1",
    class: "tls-protocol",
    reason: "the server accepts no TLS version of 1.2 or newer",
    confirmation: "soft",
  },
  {
    behaviour: "speaks plain HTTP",
    class: "tls-protocol",
    reason: "the server does not speak TLS on this port",
    confirmation: "soft",
  },
  {
    behaviour: "speaks another protocol",
    class: "tls-protocol",
    reason: "the server does not speak TLS on this port",
    confirmation: "soft",
  },
  { behaviour: "answers with HTTP/1.0", class: "ok", reason: "status 200" },
  { behaviour: "answers 200 and never ends the body", class: "ok", reason: "status 200" },
  { behaviour: "presents an RSA certificate", class: "ok", reason: "status 200" },
  { behaviour: "presents an ECDSA certificate", class: "ok", reason: "status 200" },
  { behaviour: "presents an Ed25519 certificate", class: "ok", reason: "status 200" },
  { behaviour: "alternates between 200 and 500", class: "ok", reason: "now status 200, now not ready: status 500" },
  { behaviour: "takes 1.9 s for each answer", class: "ok", reason: "status 200" },
  {
    behaviour: "answers 429",
    class: "overloaded",
    reason: "status 429: the server is overloaded, or limits how often it is asked",
  },
];

const INTERVAL_MS = 2000;
const TIMEOUT_MS = 3000;
const CONNECT_TIMEOUT_MS = 1500;
/** Timeouts in a row that withdraw: two thirds of `fall`, rounded up. */
const HANG_FALL = 2;
const RECHECK_MS = 1000;
const FALL = 3;

/** From the start of the first probe that fails to the withdrawal. */
const CONFIRMATION_MS = {
  hard: HARD_RECHECK_MS,
  expired: RECHECK_MS,
  soft: (FALL - 1) * RECHECK_MS,
  unconnected: HANG_FALL * CONNECT_TIMEOUT_MS,
  hang: HANG_FALL * TIMEOUT_MS,
} as const;

/** The probe settings that the table holds for. */
export const DEFAULTS = {
  intervalMs: INTERVAL_MS,
  timeoutMs: TIMEOUT_MS,
  connectTimeoutMs: CONNECT_TIMEOUT_MS,
  recheckMs: RECHECK_MS,
  rise: 2,
  fall: FALL,
  flap: { limit: 5, windowMs: 600_000 },
  tripwire: true,
} as const;

/** Worst case by the rules from the beginning of the behaviour to the withdrawal, milliseconds; round trips come on top. */
export function withdrawnWithinMs({ confirmation, trips }: Expectation): number | undefined {
  if (confirmation === undefined) return undefined;
  const firstMs = trips ? 20 : INTERVAL_MS * 1.1;
  return firstMs + CONFIRMATION_MS[confirmation];
}

/** The table of `docs/health.md`, Markdown. */
export function matrixTable(): string {
  const rows = EXPECTATIONS.map((row) => {
    const withinMs = withdrawnWithinMs(row);
    const within = withinMs === undefined ? "stays" : `${(withinMs / 1000).toFixed(withinMs < 1000 ? 2 : 1)} s`;
    return `| ${row.behaviour} | \`${row.class}\` | ${row.reason} | ${within} |`;
  });
  return ["| the apiserver … | class | reason | withdrawn within |", "|---|---|---|---|", ...rows].join("\n");
}
