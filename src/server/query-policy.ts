import { hkdfSync } from "node:crypto";
import type { Config } from "../config/config.js";
import { readCookieSecrets, readSiblingSecrets } from "../config/secrets.js";
import { UserError } from "../lib/errors.js";
import type { TransferService } from "../transfer/service.js";
import { DEFAULT_TCP_LIMITS } from "../transport/tcp-connection.js";
import type { ThreadPolicySettings } from "../transport/worker-messages.js";
import type { WorkerPool } from "../transport/worker-pool.js";
import { addressOctets } from "../wire/address.js";
import { SIPHASH_KEY_OCTETS } from "../wire/siphash.js";
import type { Subscriber } from "./events.js";
import { readTransferPolicy } from "./transfers.js";

/**
 * The policy of the threads. What it needs of files is read at the start and at a reload, and kept: nothing that happens in
 * between needs them again.
 */
export class ThreadPolicy {
  readonly #pool: Pick<WorkerPool, "setPolicy" | "setStale" | "transport">;
  readonly #threads: number;
  readonly #randomSecret: Uint8Array;
  readonly #transfers: Pick<TransferService, "setKeys"> | undefined;

  /**
   * @param threads that were asked for at the start; their number stays
   * @param randomSecret 16 octets, for cookies where no file holds a secret
   * @param transfers sign with the same keys
   */
  constructor(
    pool: Pick<WorkerPool, "setPolicy" | "setStale" | "transport">,
    threads: number,
    randomSecret: Uint8Array,
    transfers?: Pick<TransferService, "setKeys">,
  ) {
    this.#transfers = transfers;
    this.#pool = pool;
    this.#threads = threads;
    this.#randomSecret = randomSecret;
  }

  /**
   * Reads what a configuration names. @returns puts it in force, and cannot fail
   *
   * @throws UserError if the secrets have become unreadable since the configuration was read
   */
  read(config: Config): () => void {
    const { transport } = this.#pool;
    const policy = threadPolicy({ ...config, workers: this.#threads }, { transport, randomSecret: this.#randomSecret });
    return () => {
      this.#transfers?.setKeys(policy.policy.transfer?.keys ?? new Map());
      this.#pool.setPolicy(policy);
    };
  }

  /** Subscriber that has answers marked as stale while the prober is cut off. */
  subscriber(): Subscriber {
    return { "isolation-changed": ({ isolated }) => this.#pool.setStale(isolated) };
  }
}

/** What the policy of threads depends on beside the configuration. */
export interface ThreadPolicyContext {
  readonly transport: WorkerPool["transport"];
  /** 16 octets, used where no file holds a secret; the same for the life of the process. */
  readonly randomSecret: Uint8Array;
}

/**
 * What each thread is told of whom to answer.
 *
 * @throws UserError if the secrets have become unreadable since the configuration was read
 */
export function threadPolicy(config: Config, context: ThreadPolicyContext): ThreadPolicySettings {
  const { queries, workers } = config;
  const { transport, randomSecret } = context;
  const transfer = readTransferPolicy(config);
  const threads = transport === "batch" ? workers : 1;
  const { allow, rateLimit, identity, version, tcp } = queries;
  return {
    policy: {
      cookieSecrets: cookieSecretsOf(config, randomSecret),
      tcpIdleMs: tcp.idleMs,
      ...(transfer && { transfer }),
      ...(allow === undefined
        ? {}
        : { allow: allow.map(({ address, bits }) => ({ octets: addressOctets(address), bits })) }),
      // Each thread sees its part of the clients, spread evenly by the kernel.
      ...(rateLimit === undefined
        ? {}
        : { rateLimit: { ...rateLimit, perSecond: Math.max(1, Math.ceil(rateLimit.perSecond / threads)) } }),
      ...(identity === undefined ? {} : { identity: asciiOctets(identity) }),
      ...(version === undefined ? {} : { version: asciiOctets(version) }),
    },
    tcp: { ...DEFAULT_TCP_LIMITS, ...tcp },
  };
}

/** The secrets of DNS cookies: those of the file; else those that siblings have in common; else one of this process. */
function cookieSecretsOf({ queries, siblings }: Config, randomSecret: Uint8Array): readonly Uint8Array[] {
  if (queries.cookieSecretFile !== undefined) return secretsIn(queries.cookieSecretFile);
  if (siblings === undefined) return [randomSecret];
  const read = readSiblingSecrets(siblings.secretFile);
  if ("why" in read) {
    throw new UserError(`the siblings' secret in ${siblings.secretFile} cannot be used: ${read.why}`, "SIBLING_SECRET");
  }
  return read.secrets.map(cookieSecretFrom);
}

/** A secret for cookies that follows from one of siblings, and does not tell it (HKDF, RFC 5869). */
function cookieSecretFrom(secret: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", secret, new Uint8Array(0), "livezone DNS cookies", SIPHASH_KEY_OCTETS));
}

function secretsIn(file: string): readonly Uint8Array[] {
  const read = readCookieSecrets(file);
  if ("why" in read) throw new UserError(`the cookie secrets in ${file} cannot be used: ${read.why}`, "COOKIE_SECRET");
  return read.secrets;
}

function asciiOctets(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, "latin1"));
}
