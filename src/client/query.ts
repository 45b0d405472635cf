import { Packet } from "dns2";
import { CLASS, FLAG } from "../wire/constants.js";
import { formatName, labelsOf, type Name, NameError } from "../wire/name.js";

/** A question for a server, as a client puts it. */
export interface Query {
  /** 0 to 65 535. */
  readonly id: number;
  readonly name: Name;
  readonly type: number;
  /** RD. Default true. */
  readonly recurse?: boolean;
  /** CD: the resolver is to answer without validating (RFC 4035 §3.2.2). Default false. */
  readonly checkingDisabled?: boolean;
  /** Octets offered for a UDP reply in an OPT record (RFC 6891 §6.1.2); absent: no such record. */
  readonly udpOctets?: number;
}

/**
 * Encodes a query with `dns2`.
 *
 * @throws NameError for a label with a dot inside, which `dns2` cannot carry and no host has
 */
export function encodeQuery({
  id,
  name,
  type,
  recurse = true,
  checkingDisabled = false,
  udpOctets,
}: Query): Uint8Array {
  const labels = labelsOf(name);
  if (labels.some((label) => label.includes("."))) throw new NameError(`${formatName(name)} has a dot inside a label`);
  const packet = new Packet();
  packet.header = new Packet.Header({ id, rd: recurse ? 1 : 0 });
  packet.questions.push(new Packet.Question(labels.join("."), type, CLASS.IN));
  if (udpOctets !== undefined) {
    // Written out, since `dns2` takes an offer of 0 for none.
    packet.additionals.push({ ...Packet.Resource.EDNS([]), name: "", class: udpOctets });
  }
  const octets = packet.toBuffer();
  // `dns2` has no field for CD.
  if (checkingDisabled) octets.writeUInt16BE(octets.readUInt16BE(2) | FLAG.CD, 2);
  return octets;
}
