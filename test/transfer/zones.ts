import fc from "fast-check";
import { typeText } from "../../src/wire/constants.js";
import { formatName } from "../../src/wire/name.js";
import type { ResourceRecord } from "../../src/wire/rdata.js";
import { formatRdata } from "../../src/wire/rdata.js";
import { createZoneEndpoint } from "../../src/zone/endpoint.js";
import { LiveZone, type ZoneChange } from "../../src/zone/live-zone.js";
import type { Zone } from "../../src/zone/zone.js";
import { answering, SERIAL, sketchZone } from "../answers/serve.js";

/** When zones begin, milliseconds since 1970. */
export const AT = SERIAL * 1000;

const ADDRESSES: Readonly<Record<string, readonly string[]>> = {
  cp1: ["192.0.2.11"],
  cp2: ["192.0.2.12"],
  cp3: ["192.0.2.13", "2001:db8::13"],
  cp4: ["192.0.2.14"],
};

/** Records that a configuration may have. */
const RECORDS = ["", "a.deep 60 IN A 192.0.2.1", "a.deep 90 IN A 192.0.2.1", "a.deep 60 IN A 192.0.2.1\nm IN MX 5 api"];

/** A configuration of the zone. */
export function configured(records = "", ttl?: number): Zone {
  const zone = sketchZone({ endpoints: { api: ADDRESSES }, records });
  return ttl === undefined ? zone : { ...zone, soa: { ...zone.soa, refresh: ttl } };
}

const all = (targets: readonly string[]) =>
  answering(Object.fromEntries(targets.map((id) => [id, ADDRESSES[id] ?? []])));

/** A zone of one endpoint with four targets, all answered. */
export function liveZone(zone: Zone = configured()): LiveZone {
  return new LiveZone(zone, new Map([["api.k8s.example.test", all(Object.keys(ADDRESSES))]]), AT);
}

/** Answers with these targets only. */
export function answerWith(live: LiveZone, up: readonly string[]): ZoneChange | undefined {
  const endpoint = live.endpoint("api.k8s.example.test");
  return endpoint && live.setEndpoint(endpoint, all(up), AT);
}

/** One change of a zone: health, its set of targets, or its configuration. */
export type Step =
  | { readonly kind: "health"; readonly up: readonly string[] }
  | { readonly kind: "targets"; readonly ids: readonly string[] }
  | { readonly kind: "configuration"; readonly records: string; readonly refresh: number };

const subsets = fc.subarray(Object.keys(ADDRESSES));

export const steps = fc.oneof<fc.Arbitrary<Step>[]>(
  fc.record({ kind: fc.constant("health"), up: subsets }),
  fc.record({ kind: fc.constant("targets"), ids: subsets }),
  fc.record({
    kind: fc.constant("configuration"),
    records: fc.constantFrom(...RECORDS),
    refresh: fc.constantFrom(60, 7200),
  }),
);

export function apply(live: LiveZone, step: Step): ZoneChange | undefined {
  if (step.kind === "health") return answerWith(live, step.up);
  if (step.kind === "configuration") {
    const now = new Map([["api.k8s.example.test", all(Object.keys(ADDRESSES))]]);
    return live.replace(configured(step.records, step.refresh), now, AT);
  }
  const endpoint = live.endpoint("api.k8s.example.test");
  if (endpoint === undefined) throw new Error("no endpoint");
  const { config } = endpoint;
  const targets = step.ids.map((id) => ({ position: config.position, id, addresses: ADDRESSES[id] ?? [] }));
  return live.setEndpoint(createZoneEndpoint({ ...config, targets }, live.zone.name), all(step.ids), AT);
}

/** A record as a line, to be compared. */
export function line({ name, type, ttl, rdata }: ResourceRecord): string {
  return `${formatName(name)} ${ttl} ${typeText(type)} ${formatRdata(type, rdata)}`;
}
