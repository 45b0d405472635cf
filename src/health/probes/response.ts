import type { HttpRequestConfig } from "../../config/config.js";
import { plain } from "./attempt.js";
import type { Finding } from "./classify.js";

/** The part of a response's head that is judged. */
export interface ResponseHead {
  readonly status: number;
  readonly location: string | undefined;
}

/** Failing checks that a reason names; further ones are counted. */
const MAX_NAMED_CHECKS = 5;

/** What the head alone decides; absent when the complete response is needed. */
export function judgeHead(head: ResponseHead, config: HttpRequestConfig): Finding | undefined {
  const { status } = head;
  if (config.expectStatus.includes(status) || isNotReady(status)) return undefined;
  if (status === 429) {
    const reason = "status 429: the server is overloaded, or limits how often it is asked";
    return { class: "overloaded", reason };
  }
  if (status === 401) {
    const why =
      config.bearerTokenFile === undefined && !("clientCertificate" in config)
        ? "anonymous requests are not allowed: the probe needs a client certificate or bearer token"
        : "the probe's client certificate or bearer token was not accepted";
    return { class: "auth-required", reason: `status 401: ${why}` };
  }
  if (status === 403) {
    return { class: "auth-required", reason: `status 403: the probe may not read ${plain(config.path, 80)}` };
  }
  if (status >= 300 && status < 400 && head.location !== undefined) {
    const reason = `status ${status}: redirected to ${plain(head.location, 100)}, which is not followed`;
    return { class: "unexpected-status", reason };
  }
  return { class: "unexpected-status", reason: `status ${status}, expected ${config.expectStatus.join(" or ")}` };
}

/** What a response decides that has come in as a whole, or as much of it as is read. */
export function judgeResponse(head: ResponseHead, body: string, config: HttpRequestConfig): Finding {
  const { status } = head;
  if (config.expectStatus.includes(status)) return { class: "ok", reason: `status ${status}` };
  const failing = failingChecks(body);
  if (failing.length === 0) return { class: "not-ready", reason: `not ready: status ${status}` };
  const named = failing.slice(0, MAX_NAMED_CHECKS).join(", ");
  const more = failing.length - MAX_NAMED_CHECKS;
  return { class: "not-ready", reason: `not ready: ${named}${more > 0 ? ` and ${more} more` : ""}` };
}

/**
 * The checks that failed, by the lines that a kube-apiserver answers with (`[-]etcd failed: reason withheld`), in
 * order, each once. Names are cut to 30 characters.
 */
export function failingChecks(body: string): readonly string[] {
  const names = new Set<string>();
  for (const [, name = ""] of body.matchAll(/^\[-\](\S+) failed/gm)) names.add(plain(name, 30));
  return [...names];
}

/** Statuses by which an apiserver says itself that it must not be used. */
function isNotReady(status: number): boolean {
  return status === 500 || status === 503;
}
