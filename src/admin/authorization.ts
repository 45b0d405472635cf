import { createHash, timingSafeEqual } from "node:crypto";
import { hostname } from "node:os";
import ipaddr from "ipaddr.js";
import { readRegularFile } from "../lib/regular-file.js";

/** Largest token file, octets: the longest token and some space. */
const MAX_TOKEN_FILE_OCTETS = 8_192;

/** A request that is turned away before anything is looked at. */
export interface Denial {
  readonly status: 401 | 403 | 421 | 503;
  readonly code: "HOST_UNKNOWN" | "HTTP_READ_ONLY" | "TOKEN_MISSING" | "TOKEN_WRONG" | "TOKEN_UNREADABLE";
  readonly message: string;
  /** What is wrong with the token file, for the log; what it holds is not in it. */
  readonly problem?: string;
}

/**
 * Judges the Host header, against DNS rebinding: a web page whose name its owner points at our address reaches us
 * through its visitor's browser, but cannot make the browser write another name than its own.
 *
 * Right are localhost, an address (which needs no DNS), this machine's own name, and what the configuration lists.
 */
export function judgeHost(header: string | undefined, hostNames: readonly string[]): Denial | undefined {
  const host = hostOf(header ?? "");
  if (host !== undefined) {
    if (ipaddr.isValid(host) || host === "localhost" || host.endsWith(".localhost")) return undefined;
    if (host === hostname().toLowerCase() || hostNames.includes(host)) return undefined;
  }
  return {
    status: 421,
    code: "HOST_UNKNOWN",
    message:
      "the Host header is no name of this server: ask by its address, by localhost or the machine's host name, or list the name under admin.hostNames",
  };
}

/** The host of a Host header, lower case, without port, brackets and final dot; undefined when it is malformed. */
function hostOf(header: string): string | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]{2,45})\]|([A-Za-z0-9._-]{1,253}?)\.?)(?::[0-9]{1,5})?$/.exec(header);
  return (match?.[1] ?? match?.[2])?.toLowerCase();
}

/**
 * Judges whether an HTTP request may change state.
 *
 * @param authorization the header as it came
 * @param tokenFile read anew each time, so that a new token holds at once; absent = nothing may
 */
export function judgeToken(authorization: string | undefined, tokenFile: string | undefined): Denial | undefined {
  if (tokenFile === undefined) {
    return {
      status: 403,
      code: "HTTP_READ_ONLY",
      message: "HTTP is read-only here: use the control socket, or set admin.tokenFile",
    };
  }
  const given = /^Bearer +([\x21-\x7e]{1,4096})$/i.exec(authorization ?? "")?.[1];
  if (given === undefined) {
    return { status: 401, code: "TOKEN_MISSING", message: "this changes state: send Authorization: Bearer TOKEN" };
  }
  const read = readRegularFile(tokenFile, MAX_TOKEN_FILE_OCTETS);
  const wanted = "why" in read ? "" : read.content.toString("latin1").trim();
  if (!/^[\x21-\x7e]+$/.test(wanted)) {
    const problem = "why" in read ? read.why : wanted === "" ? "it is empty" : "it holds no token";
    const message = "the server cannot read its token file, or it is empty";
    return { status: 503, code: "TOKEN_UNREADABLE", message, problem };
  }
  if (!isEqual(given, wanted)) return { status: 401, code: "TOKEN_WRONG", message: "the token is not the right one" };
  return undefined;
}

/** Compares in a time that depends on neither: digests, whose length and bits say nothing of the token. */
function isEqual(given: string, wanted: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}
