import { isIPv4 } from "node:net";
import type { EndpointConfig, TargetConfig } from "../config/config.js";
import { HEADER_OCTETS, MAX_NAME_OCTETS, MAX_TCP_MESSAGE_OCTETS } from "../wire/constants.js";
import { formatName } from "../wire/name.js";
import type { Entry, Report } from "./entries.js";
import type { ZoneEndpoint } from "./zone.js";

/** Room that is needed beside the records: header (12), the longest question (255 + 4), OPT with what we put into it. */
const ENVELOPE_OCTETS = HEADER_OCTETS + MAX_NAME_OCTETS + 4 + 128;

/** A compressed owner, type, class, TTL and length (RFC 1035 §3.2.1, §4.1.4). */
const RECORD_HEAD_OCTETS = 2 + 10;

/** Octets of an address in a record. */
const A_OCTETS = 4;
const AAAA_OCTETS = 16;

/** Priority, weight and port of an SRV record (RFC 2782); its target is not compressed. */
const SRV_HEAD_OCTETS = 6;

/** Longest character-string (RFC 1035 §3.3). */
const MAX_STRING_OCTETS = 255;

/** Every RRset must fit into one message over TCP (RFC 7766 §8): those of the records, and what endpoints can answer. */
export function checkSizes(
  entries: ReadonlyMap<string, Entry>,
  endpoints: readonly ZoneEndpoint[],
  report: Report,
): void {
  for (const { rdatas, position, what } of entries.values()) {
    const octets = setOctets(rdatas.map(({ length }) => length));
    if (octets <= MAX_TCP_MESSAGE_OCTETS) continue;
    report(position, "RECORD_SET_TOO_LARGE", tooLarge(rdatas.length, what, octets), "Keep fewer or shorter ones.");
  }
  for (const endpoint of endpoints) checkEndpoint(endpoint, report);
}

function checkEndpoint(endpoint: ZoneEndpoint, report: Report): void {
  checkAddresses(endpoint, report);
  checkServices(endpoint, report);
  checkStatus(endpoint, report);
}

/** The addresses of an endpoint, all of which one answer holds unless `maxAnswers` says otherwise. */
function checkAddresses({ config, fqdn }: ZoneEndpoint, report: Report): void {
  const { position, maxAnswers, whenAllDown } = config;
  const ofTargets = enabledTargets(config).flatMap(({ addresses }) => addresses);
  // What is answered instead when all is down stands alone.
  const lists = whenAllDown.kind === "addresses" ? [ofTargets, whenAllDown.addresses] : [ofTargets];
  for (const [type, isOfType, size] of [
    ["A", (address: string) => isIPv4(address), A_OCTETS],
    ["AAAA", (address: string) => !isIPv4(address), AAAA_OCTETS],
  ] as const) {
    const count = Math.max(...lists.map((addresses) => addresses.filter(isOfType).length));
    const answered = Math.min(count, maxAnswers ?? count);
    const octets = setOctets(Array<number>(answered).fill(size));
    if (octets <= MAX_TCP_MESSAGE_OCTETS) continue;
    const most = Math.floor((MAX_TCP_MESSAGE_OCTETS - ENVELOPE_OCTETS) / (RECORD_HEAD_OCTETS + size));
    const remedy = `Set "maxAnswers" of the endpoint to at most ${most}.`;
    report(position, "RECORD_SET_TOO_LARGE", tooLarge(answered, `${fqdn} ${type}`, octets), remedy);
  }
}

/** The SRV records, one for each target. */
function checkServices({ config, targets, serviceName }: ZoneEndpoint, report: Report): void {
  const ids = new Set(enabledTargets(config).map(({ id }) => id));
  const services = targets.filter(({ id }) => ids.has(id)).map(({ name }) => SRV_HEAD_OCTETS + name.length);
  const octets = setOctets(services);
  if (octets <= MAX_TCP_MESSAGE_OCTETS) return;
  const what = `${formatName(serviceName)} SRV, one for each target,`;
  const remedy = "Give the endpoint fewer targets, or shorter names.";
  report(config.position, "RECORD_SET_TOO_LARGE", tooLarge(services.length, what, octets), remedy);
}

/** The TXT record of an endpoint's status, a string for each address. */
function checkStatus({ config, statusName }: ZoneEndpoint, report: Report): void {
  if (statusName === undefined) return;
  const count = enabledTargets(config).flatMap(({ addresses }) => addresses).length;
  const octets = setOctets([count * (1 + MAX_STRING_OCTETS)]);
  if (octets <= MAX_TCP_MESSAGE_OCTETS) return;
  const what = `${formatName(statusName)} TXT takes up to ${octets} octets for ${count} addresses`;
  const message = `${what}, but no message holds more than ${MAX_TCP_MESSAGE_OCTETS}`;
  report(config.position, "RECORD_SET_TOO_LARGE", message, 'Remove "statusRecord" from the endpoint.');
}

/** Those that can be answered. */
function enabledTargets({ targets }: EndpointConfig): readonly TargetConfig[] {
  return targets.filter(({ disabled }) => disabled !== true);
}

/** Octets of a message with a set of records whose data have these lengths. */
function setOctets(rdataOctets: readonly number[]): number {
  return rdataOctets.reduce((sum, octets) => sum + RECORD_HEAD_OCTETS + octets, ENVELOPE_OCTETS);
}

function tooLarge(count: number, what: string, octets: number): string {
  return `the ${count} records of ${what} take up to ${octets} octets, but no message holds more than ${MAX_TCP_MESSAGE_OCTETS}`;
}
