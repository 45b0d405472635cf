import fc from "fast-check";
import { expect, test } from "vitest";
import type { CompiledNode } from "../../src/answers/answer.js";
import { AnswerTable } from "../../src/answers/table.js";
import { applyTableMessage, zoneMessage } from "../../src/answers/table-messages.js";
import { ZoneCompiler } from "../../src/answers/zone-compiler.js";
import { TYPE } from "../../src/wire/constants.js";
import { type Name, prependLabels } from "../../src/wire/name.js";
import { createZoneEndpoint } from "../../src/zone/endpoint.js";
import type { EndpointAnswers } from "../../src/zone/endpoint-records.js";
import { LiveZone } from "../../src/zone/live-zone.js";
import type { Zone } from "../../src/zone/zone.js";
import { answerTo } from "./read-table.js";
import { answering, messageOf, SERIAL, sketchZone } from "./serve.js";

const TARGETS = { cp1: ["192.0.2.11"], cp2: ["192.0.2.12", "2001:db8::12"], cp3: ["2001:db8::13"] };
const ALL_TARGETS = { ...TARGETS, cp4: ["192.0.2.14"], cp5: ["192.0.2.15"] };
const ENDPOINTS = ["api", "other"] as const;

const RECORDS = [
  "@ 60 IN MX 10 api",
  "@ 60 IN MX 20 other",
  "@ 60 IN MX 30 cp4.api",
  "www 60 IN CNAME api",
  "late 60 IN CNAME cp4.api",
  "*.w 60 IN CNAME www",
  "*.api 60 IN TXT wild",
  "api 60 IN TXT fixed",
  "sub 60 IN NS api",
  "sub 60 IN NS cp5.other",
];

const ZONE = sketchZone({ endpoints: { api: TARGETS, other: TARGETS }, records: RECORDS.join("\n") });

/** Configurations of the zone that a reload may bring. */
const ZONES: readonly Zone[] = [
  ZONE,
  sketchZone({ endpoints: { api: TARGETS }, records: [...RECORDS, "cp4.api 60 IN NS elsewhere.test."].join("\n") }),
  sketchZone({ endpoints: { api: TARGETS, other: ALL_TARGETS, third: TARGETS }, records: "late 60 IN CNAME third" }),
];

type Answering = ReadonlyMap<string, EndpointAnswers>;

const targets = fc.subarray(Object.entries(ALL_TARGETS)).map((chosen) => Object.fromEntries(chosen));

type Change =
  | { readonly kind: "answers" | "targets"; readonly endpoint: number; readonly targets: Record<string, string[]> }
  | { readonly kind: "reload"; readonly zone: number };

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("answers" as const), endpoint: fc.nat(1), targets }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("targets" as const), endpoint: fc.nat(1), targets }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reload" as const), zone: fc.nat(ZONES.length - 1) }) },
);

function everything(zone: Zone): Answering {
  return new Map(zone.endpoints.map(({ fqdn }) => [fqdn, answering(TARGETS)]));
}

function make(live: LiveZone, change: Change) {
  const at = SERIAL * 1000;
  if (change.kind === "reload") {
    const zone = ZONES[change.zone] ?? ZONE;
    return live.replace(zone, everything(zone), at);
  }
  const name = ENDPOINTS[change.endpoint] ?? "api";
  const endpoint = live.endpoint(`${name}.k8s.example.test`);
  if (endpoint === undefined) return undefined;
  const { position } = endpoint.config;
  const own = Object.entries(change.targets).map(([id, addresses]) => ({ position, id, addresses }));
  if (change.kind === "answers") {
    const known = new Set(endpoint.targets.map(({ id }) => id));
    const kept = Object.fromEntries(Object.entries(change.targets).filter(([id]) => known.has(id)));
    return live.setEndpoint(endpoint, answering(kept), at);
  }
  return live.setEndpoint(
    createZoneEndpoint({ ...endpoint.config, targets: own }, live.zone.name),
    answering(change.targets),
    at,
  );
}

/** All nodes of the zone as they are compiled where nothing was ever different. */
function compiledAfresh(live: LiveZone): Map<Name, CompiledNode> {
  return new Map(new ZoneCompiler(live).compile().nodes.map(({ name, node }) => [name, node]));
}

/** Names to ask for: every one that there is or was, and one below each. */
function asked(names: Iterable<Name>): Name[] {
  return [...names].flatMap((name) => [name, prependLabels(["missing"], name)]);
}

test("however health, targets and configurations come and go, answers are what would be compiled afresh", () => {
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 40 }), (changes) => {
      const live = new LiveZone(ZONE, everything(ZONE), SERIAL * 1000);
      const compiler = new ZoneCompiler(live);
      const table = new AnswerTable(() => 0);
      const first = compiler.compile();
      const nodes = new Map(first.nodes.map(({ name, node }) => [name, node]));
      const names = new Set(nodes.keys());
      applyTableMessage(table, zoneMessage(first));
      for (const one of changes) {
        const before = live.serial;
        const made = make(live, one);
        expect(live.serial > before).toBe(made !== undefined);
        if (made === undefined) continue;
        compiler.touch(made);
        const update = compiler.takeUpdate();
        if ("removed" in update) for (const name of update.removed) nodes.delete(name);
        else nodes.clear();
        for (const { name, node } of update.nodes) nodes.set(name, node);
        expect(nodes).toEqual(compiledAfresh(live));
        compiler.touch(made);
        applyTableMessage(table, messageOf(compiler, made));
        for (const name of nodes.keys()) names.add(name);
      }
      const fresh = new AnswerTable(() => 0);
      applyTableMessage(fresh, zoneMessage(new ZoneCompiler(live).compile()));
      for (const name of asked(names)) {
        for (const type of [TYPE.A, TYPE.AAAA, TYPE.SRV, TYPE.TXT, TYPE.NS, TYPE.ANY]) {
          expect(answerTo(table, name, type)).toEqual(answerTo(fresh, name, type));
        }
      }
    }),
    { seed: 7, numRuns: 60 },
  );
});

test("an endpoint in more states than are cached is still answered for as it is", () => {
  const addresses = Array.from({ length: 100 }, (_, i) => `192.0.2.${i}`);
  const live = new LiveZone(ZONE, everything(ZONE), SERIAL * 1000);
  const compiler = new ZoneCompiler(live);
  const nodes = new Map(compiler.compile().nodes.map(({ name, node }) => [name, node]));
  const [endpoint] = ZONE.endpoints;
  if (endpoint === undefined) throw new Error("no endpoint");
  for (const address of [...addresses, ...addresses]) {
    const made = live.setEndpoint(endpoint, answering({ cp1: [address] }), SERIAL * 1000);
    if (made === undefined) throw new Error("no change");
    compiler.touch(made);
    for (const { name, node } of compiler.takeUpdate().nodes) nodes.set(name, node);
    expect(nodes).toEqual(compiledAfresh(live));
  }
});

test("changes that were taken together are compiled once, as the zone is after the last", () => {
  const live = new LiveZone(ZONE, everything(ZONE), SERIAL * 1000);
  const compiler = new ZoneCompiler(live);
  compiler.compile();
  for (const targets of [{ cp1: TARGETS.cp1, cp9: ["192.0.2.19"] }, { cp2: TARGETS.cp2 }]) {
    const made = make(live, { kind: "targets", endpoint: 0, targets });
    if (made !== undefined) compiler.touch(made);
  }
  const update = compiler.takeUpdate();
  const names = update.nodes.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.every((name) => live.has(name))).toBe(true);
  expect("removed" in update && update.removed.every((name) => !live.has(name))).toBe(true);
});
