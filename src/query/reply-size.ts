import { MAX_TCP_MESSAGE_OCTETS, MAX_UDP_REPLY_OCTETS, PLAIN_UDP_OCTETS } from "../wire/constants.js";
import { TRANSPORT } from "./counters.js";
import type { Query } from "./decode.js";

/**
 * Octets a reply may take (RFC 1035 §4.2): over TCP what its length prefix can say; over UDP 512, or what the client
 * offers, where less than 512 means 512 (RFC 6891 §6.2.3) and more than 1232 means 1232.
 */
export function replyLimit({ transport, hasEdns, udpOctets }: Query): number {
  if (transport === TRANSPORT.tcp) return MAX_TCP_MESSAGE_OCTETS;
  if (!hasEdns || udpOctets < PLAIN_UDP_OCTETS) return PLAIN_UDP_OCTETS;
  return udpOctets < MAX_UDP_REPLY_OCTETS ? udpOctets : MAX_UDP_REPLY_OCTETS;
}
