import type { ReplyPlace } from "../answers/encode.js";
import { RCODE } from "../wire/constants.js";
import type { Name } from "../wire/name.js";
import {
  appendUnsigned,
  readTsig,
  signMessage,
  TSIG_ERROR,
  type TsigKey,
  type TsigRecord,
  timeAsOther,
  tsigOctets,
  unsignedTsigOctets,
  verifyTsig,
} from "../wire/tsig.js";
import { TRANSPORT } from "./counters.js";
import type { Query } from "./decode.js";
import type { QueryPolicy } from "./policy.js";

const NO_KEYS: ReadonlyMap<Name, TsigKey> = new Map();

/** What the signature of a query means for the reply. */
interface Due {
  readonly record: TsigRecord;
  /** Signs the reply; absent: the error is told without a signature. */
  readonly key?: TsigKey;
  /** Of {@link TSIG_ERROR}. */
  readonly error: number;
  /** Octets that the record takes in the reply. */
  readonly size: number;
}

/**
 * The signature of one query and of its reply (RFC 8945 §5.2, §5.3). One per thread, used anew for each query; those
 * without a signature cost nothing here.
 */
export class ReplySignature {
  private due: Due | undefined;

  /** Octets that the reply's TSIG record will take. */
  get size(): number {
    return this.due?.size ?? 0;
  }

  /** Whether a key of ours signed the query, and just now. */
  get isValid(): boolean {
    return this.due !== undefined && this.due.error === TSIG_ERROR.NONE;
  }

  /** The key and the MAC of a query that is validly signed. */
  get signer(): { readonly key: Name; readonly mac: Uint8Array } | undefined {
    const { due } = this;
    return due?.key && this.isValid ? { key: due.key.name, mac: due.record.mac } : undefined;
  }

  /** Forgets the query before. */
  clear(): void {
    this.due = undefined;
  }

  /**
   * Verifies a well-formed query that has a TSIG record.
   *
   * @returns the response code for what is wrong with the signature; undefined if it is valid
   */
  verify(query: Query, policy: QueryPolicy | undefined): number | undefined {
    const { at, length, tsigAt } = query;
    const message = query.message.subarray(at, at + length);
    const record = readTsig(message, tsigAt - at);
    if (record === undefined) return RCODE.FORMERR;
    const verdict = verifyTsig(message, record, policy?.transfer?.keys ?? NO_KEYS, policy?.nowSeconds?.() ?? 0);
    switch (verdict.kind) {
      case "malformed":
        return RCODE.FORMERR;
      case "valid":
        this.due = signed(record, verdict.key, TSIG_ERROR.NONE);
        return undefined;
      case "bad-time":
        this.due = signed(record, verdict.key, TSIG_ERROR.BADTIME);
        break;
      case "truncated":
        this.due = signed(record, verdict.key, TSIG_ERROR.BADTRUNC);
        break;
      default: {
        const error = verdict.kind === "unknown-key" ? TSIG_ERROR.BADKEY : TSIG_ERROR.BADSIG;
        this.due = { record, error, size: unsignedTsigOctets(record) };
      }
    }
    return RCODE.NOTAUTH;
  }

  /** Writes the record behind a reply that ends at `end`. @returns the new end */
  append({ octets, at }: ReplyPlace, end: number, query: Query, policy: QueryPolicy | undefined): number {
    const { due } = this;
    if (due === undefined) return end;
    const { record, key, error } = due;
    const room = octets.subarray(at, at + end + due.size);
    if (key === undefined) {
      // No error is longer than the query for a client whose address may be forged.
      if (query.transport === TRANSPORT.udp && end + due.size > query.length) return end;
      return appendUnsigned(room, end, record, error);
    }
    const nowSeconds = policy?.nowSeconds?.() ?? 0;
    // BADTIME repeats the client's time, or the client could not verify it (RFC 8945 §5.2.3).
    const time =
      error === TSIG_ERROR.BADTIME
        ? { timeSigned: record.timeSigned, other: timeAsOther(nowSeconds) }
        : { timeSigned: nowSeconds };
    return signMessage(room, end, { key, priorMac: record.mac, error, ...time }).length;
  }
}

function signed(record: TsigRecord, key: TsigKey, error: number): Due {
  return { record, key, error, size: tsigOctets(key, error === TSIG_ERROR.BADTIME) };
}
