import { X509Certificate } from "node:crypto";

/** From when to when something that a probe shows of itself is valid; wall clock, milliseconds since 1970. */
export interface Validity {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Longest time before the end at which that is said, milliseconds: 7 days. */
const LONGEST_NOTICE_MS = 7 * 86_400_000;

/** What is short-lived is replaced late in its life: it is said when less than this part of it is left. */
const LEAST_PART = 0.1;

/** Validity of the probe's own certificate, PEM. Undefined if it cannot be read. */
export function validityOfCertificate(pem: string): Validity | undefined {
  try {
    const { validFrom, validTo } = new X509Certificate(pem);
    return { fromMs: Date.parse(validFrom), toMs: Date.parse(validTo) };
  } catch {
    return undefined;
  }
}

/** Validity of a bearer token that is a JSON Web Token (RFC 7519 §4.1.4), as those of service accounts are. */
export function validityOfToken(token: string): Validity | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    const { exp, iat } = claims as { readonly exp?: unknown; readonly iat?: unknown };
    if (typeof exp !== "number") return undefined;
    return { fromMs: typeof iat === "number" ? iat * 1_000 : Number.NEGATIVE_INFINITY, toMs: exp * 1_000 };
  } catch {
    // Any text may be a token.
    return undefined;
  }
}

/**
 * What is due to be said: nothing, that it ends soon (7 days, or the last tenth of a shorter life), or that it is over.
 *
 * @param nowMs wall clock
 */
export function noticeOf({ fromMs, toMs }: Validity, nowMs: number): "soon" | "over" | undefined {
  if (nowMs >= toMs) return "over";
  return toMs - nowMs <= Math.min(LONGEST_NOTICE_MS, (toMs - fromMs) * LEAST_PART) ? "soon" : undefined;
}
