import ipaddr from "ipaddr.js";
import type { SocketAddress } from "../lib/listening.js";
import type { Verdict } from "./parse-result.js";

/** Ranges in which no client could reach a target, as ipaddr.js names them, with the words for people. */
const SPECIAL_RANGES: Readonly<Record<string, string>> = {
  loopback: "a loopback address",
  linkLocal: "a link-local address",
  multicast: "a multicast address",
  unspecified: "an unspecified address",
  broadcast: "the broadcast address",
};

/**
 * An IPv4 or IPv6 literal in canonical text form: dotted decimal, or RFC 5952.
 *
 * Refused are forms that programs read differently (octal, hexadecimal or missing parts of IPv4), zone indices
 * (RFC 4007 §11: they mean nothing to another host) and IPv4-mapped IPv6, which no AAAA record can usefully carry.
 */
export function parseAddress(value: unknown): Verdict<string> {
  const fault = {
    why: "that is not an IPv4 or IPv6 address",
    remedy: 'Write an address such as "192.0.2.11" or "2001:db8::11".',
    code: "CONFIG_ADDRESS",
  };
  if (typeof value !== "string") return fault;
  if (ipaddr.IPv4.isValidFourPartDecimal(value)) return { value: ipaddr.IPv4.parse(value).toString() };
  if (!ipaddr.IPv6.isValid(value)) {
    if (/^\[.*\]$/.test(value)) return { ...fault, remedy: "Write it without brackets." };
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(value)) {
      return {
        ...fault,
        why: "that is a URL, not an address",
        remedy: 'Write the address alone; "port" has its own key.',
      };
    }
    if (value.includes("/")) return { ...fault, why: "that is a network, not one address" };
    if (/^[0-9.]+:[0-9]+$/.test(value)) {
      return {
        ...fault,
        why: "that is an address with a port",
        remedy: 'Write the address alone; "port" has its own key.',
      };
    }
    if (/[a-z]/i.test(value) && /^[\w.-]+$/.test(value)) {
      return { ...fault, why: "that is a name, not an address", remedy: "Write the address that the name stands for." };
    }
    return fault;
  }
  const parsed = ipaddr.IPv6.parse(value);
  if (parsed.zoneId !== undefined) {
    return { ...fault, why: "a zone index means nothing to another host", remedy: "Write the address without it." };
  }
  if (parsed.isIPv4MappedAddress()) {
    return {
      ...fault,
      why: "that is an IPv4 address in IPv6 clothes",
      remedy: `Write ${JSON.stringify(parsed.toIPv4Address().toString())}.`,
    };
  }
  return { value: parsed.toRFC5952String() };
}

/**
 * What makes an address unusable for clients, in words (`a loopback address`), or `undefined` when nothing does.
 *
 * @param address in the form of {@link parseAddress}
 */
export function specialKind(address: string): string | undefined {
  return SPECIAL_RANGES[ipaddr.parse(address).range()];
}

/** A socket address: `192.0.2.1:53` or `[2001:db8::1]:53`; the port, 0 to 65 535, must be there. */
export function parseListenAddress(value: unknown): Verdict<SocketAddress> {
  const fault = {
    why: "that is not an address with a port",
    remedy: 'Write it like "192.0.2.1:53" or "[2001:db8::1]:53".',
    code: "CONFIG_LISTEN_ADDRESS",
  };
  if (typeof value !== "string") return fault;
  const match = /^(?:\[(?<v6>[^\]]*)\]|(?<host>[^:[\]]*)):(?<port>[0-9]{1,5})$/.exec(value);
  if (match?.groups === undefined) {
    const bare = parseAddress(value.replace(/^\[(.*)\]$/, "$1"));
    if (!("value" in bare)) return fault;
    const host = bare.value.includes(":") ? `[${bare.value}]` : bare.value;
    return { ...fault, why: "the port is missing", remedy: `Write "${host}:PORT".` };
  }
  const { v6, host, port } = match.groups;
  const address = parseAddress(v6 ?? host);
  if (!("value" in address)) {
    return host === "" || host === "*"
      ? { ...fault, why: "the address is missing", remedy: `Write "0.0.0.0:${port}" or "[::]:${port}".` }
      : { ...fault, why: address.why };
  }
  if ((v6 !== undefined) !== address.value.includes(":")) return fault;
  if (Number(port) > 65_535) return { ...fault, why: "the port is more than 65535" };
  return { value: { address: address.value, port: Number(port) } };
}
