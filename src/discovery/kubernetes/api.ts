import type { ClientRequest, IncomingMessage } from "node:http";
import { request } from "node:https";
import { isIP } from "node:net";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import type { Clock, Timer } from "../../lib/clock.js";
import { messageOf } from "../../lib/errors.js";
import { formatAddress } from "../../lib/listening.js";
import type { Credential } from "./credential.js";

/** Milliseconds for TCP and TLS, and until the head of the reply has come. */
const HEAD_TIMEOUT_MS = 8_000;

/** Milliseconds between two pieces of a body that is not a watch. */
const BODY_TIMEOUT_MS = 15_000;

/** Longest Retry-After that is obeyed, milliseconds. */
const MAX_RETRY_AFTER_MS = 600_000;

/** One place where the API may be. */
export interface Dial {
  /** An address, or a name that is not one of livezone's own. */
  readonly host: string;
  readonly port: number;
  /** What is told to the server (SNI); absent = nothing. */
  readonly serverName?: string;
  /** Names and addresses of which its certificate must have one. */
  readonly identities: readonly string[];
}

/** Why a request came to nothing. */
export interface ApiFailure {
  /** One clause. */
  readonly problem: string;
  /** HTTP status; absent = no reply. */
  readonly status?: number;
  /** What Retry-After says, milliseconds. */
  readonly retryAfterMs?: number;
  /** The body was larger than allowed. */
  readonly isTooLarge?: true;
}

/** A request that is under way. */
export interface ApiRequest<T> {
  readonly done: Promise<T | ApiFailure>;
  cancel(): void;
}

export interface Requested {
  readonly clock: Clock;
  readonly dial: Dial;
  readonly credential: Credential;
  /** With the query. */
  readonly path: string;
}

export function isFailure(value: unknown): value is ApiFailure {
  return typeof value === "object" && value !== null && "problem" in value;
}

/** Reads one JSON document of at most `maxOctets`. */
export function getJson(requested: Requested, maxOctets: number): ApiRequest<{ readonly json: unknown }> {
  return get<{ readonly json: unknown }>(requested, (exchange, response) => {
    const parts: Buffer[] = [];
    let octets = 0;
    response.on("data", (chunk: Buffer) => {
      exchange.within(BODY_TIMEOUT_MS, "the reply stopped in the middle");
      octets += chunk.length;
      if (octets > maxOctets) {
        const problem = `the reply has more than ${Math.round(maxOctets / 1024 / 1024)} MiB`;
        exchange.settle({ problem, isTooLarge: true });
      } else parts.push(chunk);
    });
    response.on("end", () => {
      try {
        exchange.settle({ json: JSON.parse(Buffer.concat(parts).toString("utf8")) });
      } catch {
        exchange.settle({ problem: "the reply is no JSON" });
      }
    });
  });
}

/** What a watch says. */
export interface StreamEvents {
  /** The server has accepted the request. */
  onHead(): void;
  onChunk(chunk: Buffer): void;
}

/** Reads a body that goes on until the server ends it; resolves with `ended` then. */
export function getStream(
  requested: Requested,
  { onHead, onChunk }: StreamEvents,
): ApiRequest<{ readonly ended: true }> {
  return get<{ readonly ended: true }>(requested, (exchange, response) => {
    exchange.unlimited();
    onHead();
    response.on("data", onChunk);
    response.on("end", () => exchange.settle({ ended: true }));
  });
}

/** One request and its time. */
class Exchange<T> {
  readonly done: Promise<T | ApiFailure>;
  #resolve: (outcome: T | ApiFailure) => void = () => {};
  #timer: Timer | undefined;
  readonly #clock: Clock;
  readonly #end: () => void;

  constructor(clock: Clock, end: () => void) {
    this.#clock = clock;
    this.#end = end;
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** The first outcome counts; the connection ends with it. */
  settle(outcome: T | ApiFailure): void {
    this.#timer?.cancel();
    this.#resolve(outcome);
    this.#end();
  }

  within(ms: number, problem: string): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.after(ms, () => this.settle({ problem }));
  }

  unlimited(): void {
    this.#timer?.cancel();
  }
}

function get<T>(
  { clock, dial, credential, path }: Requested,
  onReply: (exchange: Exchange<T>, response: IncomingMessage) => void,
): ApiRequest<T> {
  const where = formatAddress({ address: dial.host, port: dial.port });
  let sent: ClientRequest;
  try {
    sent = begin(dial, credential, path);
  } catch (error) {
    // Node.js takes a key, a certificate, a token or a name that cannot be used for a fault of the program.
    return {
      done: Promise.resolve({ problem: `the credential cannot be used: ${messageOf(error)}` }),
      cancel: () => {},
    };
  }
  const exchange = new Exchange<T>(clock, () => sent.destroy());
  exchange.within(HEAD_TIMEOUT_MS, `${where} does not answer`);
  // After the outcome, errors of the connection have nobody left to tell.
  sent.on("error", (error) => exchange.settle({ problem: `${where}: ${messageOf(error)}` }));
  sent.on("response", (response) => {
    response.on("error", (error) => exchange.settle({ problem: `${where}: ${messageOf(error)}` }));
    response.on("close", () => exchange.settle({ problem: `${where} closed the connection` }));
    const status = response.statusCode ?? 0;
    if (status === 200) onReply(exchange, response);
    else exchange.settle({ problem: statusProblem(where, status), status, ...retryAfter(response) });
  });
  sent.end();
  return { done: exchange.done, cancel: () => exchange.settle({ problem: "it was cancelled" }) };
}

/** @throws Error for a credential or a name that cannot be used */
function begin(dial: Dial, { ca, client, token }: Credential, path: string): ClientRequest {
  const { host, port, serverName } = dial;
  return request({
    ...{ host, port, path, method: "GET", agent: false },
    ...(serverName === undefined || isIP(serverName) > 0 ? { servername: "" } : { servername: serverName }),
    ...(ca === undefined ? {} : { ca }),
    ...client,
    headers: {
      host: serverName ?? formatAddress({ address: host, port }),
      accept: "application/json",
      "user-agent": "livezone",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    minVersion: "TLSv1.2",
    checkServerIdentity: (_, certificate) => judgeIdentity(dial, certificate),
  });
}

/** The certificate is of this cluster's authority; it must also be one of an apiserver. */
function judgeIdentity({ identities }: Dial, certificate: PeerCertificate): Error | undefined {
  const verdicts = identities.map((name) => checkServerIdentity(name, certificate));
  return verdicts.some((verdict) => verdict === undefined) ? undefined : verdicts[0];
}

function statusProblem(where: string, status: number): string {
  if (status === 401) return `${where} does not accept the credential (401)`;
  if (status === 403) return `${where} does not let the credential list and watch (403)`;
  if (status === 410) return `${where} does not have that state any more (410)`;
  if (status === 429) return `${where} asks to wait (429)`;
  return `${where} answers with status ${status}`;
}

/** Seconds, or a date (RFC 9110 §10.2.3), which Kubernetes never sends. */
function retryAfter({ headers }: IncomingMessage): { readonly retryAfterMs?: number } {
  const seconds = Number(headers["retry-after"]);
  return seconds > 0 ? { retryAfterMs: Math.min(seconds * 1_000, MAX_RETRY_AFTER_MS) } : {};
}
