// Requests for transfers as octets, signed or signed wrongly; written apart from src/wire/tsig.ts, so that it can be wrong.
import { createHmac } from "node:crypto";

export const SECRET = Buffer.from("a secret of 32 octets, in base64");
export const TYPES = { SOA: 6, A: 1, AXFR: 252, IXFR: 251 };

function nameOctets(name) {
  const labels = name.split(".").filter((label) => label !== "");
  return Buffer.concat([
    ...labels.flatMap((label) => [Buffer.from([label.length]), Buffer.from(label)]),
    Buffer.from([0]),
  ]);
}

function u16(...values) {
  return Buffer.from(values.flatMap((value) => [value >>> 8, value & 0xff]));
}

/** A request. `serial`: of the SOA in its authority section, for IXFR; absent = there is none. */
export function request({ zone, type, serial, id = 0x4242 }) {
  const hasSoa = serial !== undefined;
  const head = Buffer.concat([u16(id, 0, 1, 0, hasSoa ? 1 : 0, 0), nameOctets(zone), u16(TYPES[type], 1)]);
  if (!hasSoa) return head;
  const numbers = Buffer.alloc(20);
  numbers.writeUInt32BE(serial >>> 0, 0);
  const rdata = Buffer.concat([Buffer.from([0, 0]), numbers]);
  return Buffer.concat([head, u16(0xc00c, 6, 1, 0, 0, rdata.length), rdata]);
}

/** The request with a signature. `octets`: how many of the MAC are sent. */
export function sign(query, { key = "corp", secret = SECRET, time = Math.floor(Date.now() / 1000), octets = 32 } = {}) {
  const algorithm = nameOctets("hmac-sha256");
  const timers = Buffer.concat([u16(Math.floor(time / 2 ** 32)), Buffer.alloc(4), u16(300)]);
  timers.writeUInt32BE(time % 2 ** 32, 2);
  const name = nameOctets(key);
  const variables = Buffer.concat([name, u16(255, 0, 0), algorithm, timers, u16(0, 0)]);
  const mac = createHmac("sha256", secret).update(query).update(variables).digest().subarray(0, octets);
  const rdata = Buffer.concat([algorithm, timers, u16(mac.length), mac, query.subarray(0, 2), u16(0, 0)]);
  const signed = Buffer.concat([query, name, u16(250, 255, 0, 0, rdata.length), rdata]);
  signed.writeUInt16BE(signed.readUInt16BE(10) + 1, 10);
  return signed;
}
