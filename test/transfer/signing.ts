import { createHmac } from "node:crypto";
import { parseName } from "../../src/wire/name.js";
import type { TsigKey } from "../../src/wire/tsig.js";
import { encodeName, encodeQuery } from "../support/dns-message.js";

/** The key that tests share. */
export const CORP: TsigKey = {
  name: parseName("corp"),
  algorithm: "hmac-sha256",
  secret: Uint8Array.from(Buffer.from("c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ=", "base64")),
};

/** What a request for a transfer may be like. */
export interface TransferQuestion {
  /** Default `k8s.example.test`. */
  readonly zone?: string;
  readonly type: "AXFR" | "IXFR" | "SOA" | "A";
  /** For IXFR; absent = no SOA in the authority section. */
  readonly serial?: number;
  readonly edns?: boolean;
}

/** What a signature may be like; written apart from `src/wire/tsig.ts`, so that it can be wrong. */
export interface Signature {
  /** Default `corp`. */
  readonly key?: string;
  readonly secret?: Uint8Array;
  /** Seconds since 1970. */
  readonly time: number;
  /** Octets of the MAC that are sent. Default all 32. */
  readonly octets?: number;
}

const u16 = (...values: readonly number[]): Buffer =>
  Buffer.from(values.flatMap((value) => [value >>> 8, value & 0xff]));

/** A request for a transfer, as octets. */
export function transferQuery({ zone = "k8s.example.test", type, serial, edns = false }: TransferQuestion): Buffer {
  const query = encodeQuery({ name: zone, type, id: 0x4242, ...(edns && { edns: {} }) });
  if (serial === undefined) return query;
  const numbers = Buffer.alloc(20);
  numbers.writeUInt32BE(serial, 0);
  const rdata = Buffer.concat([encodeName("."), encodeName("."), numbers]);
  const soa = Buffer.concat([Buffer.from([0xc0, 12]), u16(6, 1, 0, 0, rdata.length), rdata]);
  const questionEnd = 12 + encodeName(zone).length + 4;
  const whole = Buffer.concat([query.subarray(0, questionEnd), soa, query.subarray(questionEnd)]);
  whole.writeUInt16BE(1, 8);
  return whole;
}

/** A query with a signature (RFC 8945 §4.3). */
export function sign(query: Buffer, { key = "corp", secret = CORP.secret, time, octets = 32 }: Signature): Buffer {
  const algorithm = encodeName("hmac-sha256");
  const timers = Buffer.concat([u16(Math.floor(time / 2 ** 32)), Buffer.alloc(4), u16(300)]);
  timers.writeUInt32BE(time % 2 ** 32, 2);
  const name = encodeName(key);
  const variables = Buffer.concat([name, u16(255, 0, 0), algorithm, timers, u16(0, 0)]);
  const mac = createHmac("sha256", secret).update(query).update(variables).digest().subarray(0, octets);
  const rdata = Buffer.concat([algorithm, timers, u16(mac.length), mac, query.subarray(0, 2), u16(0, 0)]);
  const signed = Buffer.concat([query, name, u16(250, 255, 0, 0, rdata.length), rdata]);
  signed.writeUInt16BE(signed.readUInt16BE(10) + 1, 10);
  return signed;
}
