/** All ways to reach the apiservers, by id. */
import { HAPROXY_WAYS } from "./ways/haproxy.mjs";
import { LIVEZONE_WAYS } from "./ways/livezone.mjs";
import { NAME_SERVER_WAYS } from "./ways/name-servers.mjs";
import { NODE_PROXY_WAYS } from "./ways/node-proxies.mjs";
import { ROUND_ROBIN_WAYS } from "./ways/round-robin.mjs";

/**
 * @typedef {object} Way
 * @property {string} title
 * @property {string} [settings] what sets it apart from others of that title; default: its own defaults
 * @property {boolean} [isOurs]
 * @property {boolean} [isDns] whether clients learn the targets' addresses from DNS
 * @property {string[]} [needs] programs, besides BIND and Unbound
 * @property {boolean} [forgetsSlowly] whether it shows nothing, and remembers failures for longer than a round
 * @property {(place) => Promise<Running>} start
 *
 * @typedef {object} Running
 * @property {Service[]} services of the way itself: what memory and CPU are counted of
 * @property {Service[]} parts all that has to be stopped
 * @property {Service} [first] the first server or load balancer, which a fault kills
 * @property {Service} [resolver]
 * @property {string[]} probers hosts that check the targets
 * @property {boolean} [isOnClient] whether the prober is the client's own host
 * @property {string[]} [watched] name servers whose answers are watched
 * @property {() => Promise<string[] | undefined>} [believed] addresses that a load balancer takes for up
 * @property {string[]} configuration texts that an operator writes
 * @property {{ nameservers?: string[], hosts?: string }} client
 * @property {(id: string) => Promise<void>} [drain] and `undrain`: takes a target out, where the way has a command for it
 */

/** @type {Record<string, Way>} */
export const WAYS = { ...LIVEZONE_WAYS, ...ROUND_ROBIN_WAYS, ...NAME_SERVER_WAYS, ...HAPROXY_WAYS, ...NODE_PROXY_WAYS };

/** The name of a way, with its settings. */
export const nameOf = ({ title, settings }) => (settings === undefined ? title : `${title} (${settings})`);

/** Lines that an operator has to write, without comments and empty lines. */
export function linesOf(configuration) {
  const lines = configuration.flatMap((text) => text.split("\n"));
  return lines.filter((line) => line.trim() !== "" && !/^\s*[#;!]/.test(line)).length;
}
