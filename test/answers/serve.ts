import { AnswerTable } from "../../src/answers/table.js";
import { applyTableMessage, changeMessage, type TableMessage, zoneMessage } from "../../src/answers/table-messages.js";
import { ZoneCompiler } from "../../src/answers/zone-compiler.js";
import type { EndpointConfig, Position, ZoneConfig } from "../../src/config/config.js";
import type { Answerable } from "../../src/health/answerable.js";
import { formatProblem, type Problem } from "../../src/lib/errors.js";
import { clientAt } from "../../src/query/client.js";
import { createQueryCounters, TRANSPORT, type TransportName } from "../../src/query/counters.js";
import type { QueryPolicy } from "../../src/query/policy.js";
import { createResponder, type Respond, type ResponderState } from "../../src/query/respond.js";
import { buildZone } from "../../src/zone/build.js";
import { createZoneEndpoint } from "../../src/zone/endpoint.js";
import { LiveZone, type ZoneChange } from "../../src/zone/live-zone.js";
import type { Zone, ZoneEndpoint } from "../../src/zone/zone.js";
import { type DnsMessage, type DnsQuestion, encodeQuery, parseMessage } from "../support/dns-message.js";

/** A zone as briefly as a test can put it. */
export interface ZoneSketch {
  /** Default `k8s.example.test`. */
  readonly zone?: string;
  /** Default `ns1` with 127.0.0.1. */
  readonly nameservers?: Readonly<Record<string, readonly string[]>>;
  /** Master-file lines; their first line is line 100 of `zone.yaml`. Default none. */
  readonly records?: string;
  /** Addresses by target, by endpoint. Default none. */
  readonly endpoints?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  readonly maxAnswers?: number;
  /** Whom to answer and what to tell; default nothing of it. */
  readonly policy?: QueryPolicy;
  /** What each endpoint answers at the beginning, by endpoint. Default all its targets. */
  readonly up?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
}

/** Line of `zone.yaml` on which the records of a sketch begin. */
export const RECORDS_LINE = 100;

/** When every sketched zone is published: seconds since 1970, so also its serial. */
export const SERIAL = 1_700_000_000;

const NO_PROBE = { type: "none", intervalMs: 2_000, timeoutMs: 2_000, recheckMs: 1_000, rise: 2, fall: 3 } as const;

/** The configuration of a sketch: the nameservers stand from line 10 on, the endpoints from line 50 on. */
export function zoneConfig(sketch: ZoneSketch): ZoneConfig {
  const { zone = "k8s.example.test", nameservers = { ns1: ["127.0.0.1"] }, records, endpoints = {} } = sketch;
  const at = (line: number, column = 1): Position => ({ file: "zone.yaml", line, column });
  return {
    position: at(1),
    zone,
    nameservers: Object.entries(nameservers).map(([name, addresses], i) => ({ position: at(10 + i), name, addresses })),
    soa: { contact: "hostmaster.example.test", negativeTtl: 5, refresh: 7200, retry: 900, expire: 1_209_600 },
    ...(records === undefined
      ? {}
      : {
          records: {
            text: records,
            defaultTtl: 5,
            locate: (line: number, column: number) => at(RECORDS_LINE - 1 + line, column),
          },
        }),
    endpoints: Object.entries(endpoints).map(
      ([name, targets], i): EndpointConfig => ({
        position: at(50 + i),
        name,
        fqdn: name === "@" ? zone : `${name}.${zone}`,
        port: 6443,
        ttl: 5,
        targets: Object.entries(targets).map(([id, addresses]) => ({ position: at(50 + i), id, addresses })),
        probe: NO_PROBE,
        whenAllDown: { kind: "all" },
        minHealthy: 1,
        ...(sketch.maxAnswers === undefined ? {} : { maxAnswers: sketch.maxAnswers }),
        statusRecord: false,
      }),
    ),
    allowSpecialAddresses: true,
  };
}

/** The value of a sketch. @throws Error with all problems, if there are any */
export function sketchZone(sketch: ZoneSketch): Zone {
  const { zone, problems } = buildZone(zoneConfig(sketch));
  if (zone === undefined) throw new Error(problems.map((problem: Problem) => formatProblem(problem)).join("\n"));
  return zone;
}

/** What an endpoint answers with these addresses up. */
export function answering(targets: Readonly<Record<string, readonly string[]>>): Answerable {
  const addresses = Object.entries(targets).flatMap(([target, own]) => own.map((address) => ({ target, address })));
  return { mode: addresses.length > 0 ? "healthy" : "none", addresses, upTargets: Object.keys(targets).length };
}

/** The message that carries a change that the live zone of `compiler` has made. */
export function messageOf(compiler: ZoneCompiler, change: ZoneChange): TableMessage {
  compiler.touch(change);
  const update = compiler.takeUpdate();
  return "removed" in update ? changeMessage(update) : zoneMessage(update);
}

/** A zone served in this process, no socket in between. */
export interface ServedZone {
  readonly zone: Zone;
  readonly live: LiveZone;
  readonly compiler: ZoneCompiler;
  readonly table: AnswerTable;
  readonly state: ResponderState;
  readonly respond: Respond;
  /** Lets an endpoint, by its name in the sketch, answer these of its targets from now on. */
  setAnswer(endpoint: string, targets: Readonly<Record<string, readonly string[]>>): ZoneChange | undefined;
  /** Gives an endpoint these targets and no others, all answered. */
  setTargets(endpoint: string, targets: Readonly<Record<string, readonly string[]>>): ZoneChange | undefined;
  /** Asks over UDP, or what `transport` says, from 127.0.0.1 or another address. @throws Error if there is no reply */
  ask(question: DnsQuestion, transport?: TransportName, from?: string): DnsMessage;
  /** Sends octets; undefined if there is no reply. */
  askRaw(bytes: Uint8Array, transport?: TransportName, from?: string): Buffer | undefined;
}

/** Publishes and serves a sketch, every target up. */
export function serveSketch(sketch: ZoneSketch, serial = SERIAL): ServedZone {
  const zone = sketchZone(sketch);
  const config = zoneConfig(sketch);
  const everything = new Map(
    config.endpoints.map(({ fqdn, name }) => [fqdn, answering((sketch.up ?? sketch.endpoints)?.[name] ?? {})] as const),
  );
  const live = new LiveZone(zone, everything, serial * 1000);
  const compiler = new ZoneCompiler(live);
  const table = new AnswerTable();
  applyTableMessage(table, zoneMessage(compiler.compile()));
  const state: ResponderState = { table, ready: true, ...(sketch.policy && { policy: sketch.policy }) };
  const respond = createResponder(state, createQueryCounters());
  const reply = new Uint8Array(65_536);
  let now = serial * 1000;
  const askRaw = (bytes: Uint8Array, transport: TransportName = "udp", from = "127.0.0.1"): Buffer | undefined => {
    const length = respond(bytes, 0, bytes.length, reply, 0, TRANSPORT[transport], clientAt(from));
    return length === 0 ? undefined : Buffer.from(reply.subarray(0, length));
  };
  const change = (endpoint: ZoneEndpoint, answers: Answerable): ZoneChange | undefined => {
    now += 1000;
    const changed = live.setEndpoint(endpoint, answers, now);
    if (changed !== undefined) applyTableMessage(table, messageOf(compiler, changed));
    return changed;
  };
  const endpointOf = (name: string): ZoneEndpoint => {
    const fqdn = config.endpoints.find((endpoint) => endpoint.name === name)?.fqdn ?? "";
    const endpoint = live.endpoint(fqdn);
    if (endpoint === undefined) throw new Error(`no endpoint ${name}`);
    return endpoint;
  };
  return {
    zone,
    live,
    compiler,
    table,
    state,
    respond,
    setAnswer: (name, targets) => change(endpointOf(name), answering(targets)),
    setTargets(name, targets) {
      const { config } = endpointOf(name);
      const { position } = config;
      const own = Object.entries(targets).map(([id, addresses]) => ({ position, id, addresses }));
      return change(createZoneEndpoint({ ...config, targets: own }, zone.name), answering(targets));
    },
    ask(question, transport, from) {
      const bytes = askRaw(encodeQuery(question), transport, from);
      if (bytes === undefined) throw new Error(`no reply to ${question.name} ${question.type ?? "A"}`);
      return parseMessage(bytes);
    },
    askRaw,
  };
}
