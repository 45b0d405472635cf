import type { SocketAddress } from "../lib/listening.js";
import { DNS_PORT } from "../wire/constants.js";
import { parseAddress, parseListenAddress } from "./address.js";
import type { Verdict } from "./parse-result.js";

/**
 * Reads the address of a DNS server, with or without a port; 53 if it names none.
 *
 * @param code of what is said of a value that is none
 */
export function readServerAddress(code: string): (value: unknown) => Verdict<SocketAddress> {
  return (value) => {
    const address = parseAddress(value);
    if ("value" in address) return { value: { address: address.value, port: DNS_PORT } };
    const withPort = parseListenAddress(value);
    if ("value" in withPort && withPort.value.port > 0) return withPort;
    return {
      why: "that is not the address of a server",
      remedy: 'Write it like "10.0.0.53", "10.0.0.53:5353" or "[2001:db8::53]:5353".',
      code,
    };
  };
}
