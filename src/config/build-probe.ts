import path from "node:path";
import type { HttpRequestConfig, HttpsProbeConfig, ProbeConfig, ProbeSchedule, SingleProbeConfig } from "./config.js";
import { checkCertificates, checkPrivateKey, checkProgram, checkToken } from "./credentials.js";
import { formatDuration } from "./duration.js";
import { builtIn } from "./option.js";
import type { Path } from "./positions.js";
import { formatPath } from "./quote.js";
import { flapOptions, type ProbeInput, type ProbeType, probeOptions, probeTypesOf } from "./schema-probe.js";
import { problemAt, problemAtKey, type Report, type Source } from "./source.js";
import type { Valid } from "./validate.js";

/** The options of one `probe:` and where they stand. */
export interface ProbeLayer {
  readonly source: Source;
  /** Of the mapping `probe`. */
  readonly path: Path;
  readonly options: ProbeInput;
  /** Whether the option was written wrongly there and left out. */
  damaged(key: string): boolean;
}

/** The options of a `probe:` at `path` as a layer, if there are any. */
export function probeLayer(
  source: Source,
  valid: Valid<unknown>,
  path: Path,
  options: ProbeLayer["options"] | undefined,
): ProbeLayer | undefined {
  if (options === undefined) return undefined;
  return { source, path, options, damaged: (key) => valid.damaged([...path, key]) };
}

/** The endpoint that a probe is for. */
export interface ProbedEndpoint {
  readonly fqdn: string;
  readonly port: number;
}

type Key = keyof typeof probeOptions;

/** What holds where no layer says otherwise. */
const BUILT_IN = {
  type: builtIn(probeOptions.type),
  interval: builtIn(probeOptions.interval),
  timeout: builtIn(probeOptions.timeout),
  connectTimeout: builtIn(probeOptions.connectTimeout),
  recheck: builtIn(probeOptions.recheck),
  rise: builtIn(probeOptions.rise),
  fall: builtIn(probeOptions.fall),
  path: builtIn(probeOptions.path),
  expectStatus: builtIn(probeOptions.expectStatus),
  insecureSkipVerify: builtIn(probeOptions.insecureSkipVerify),
  tripwire: builtIn(probeOptions.tripwire),
  resumeTls: builtIn(probeOptions.resumeTls),
};

type MergedOptions = typeof BUILT_IN & ProbeInput;

/** One probe being built: what holds, and where it comes from. */
interface Merge {
  /** Farthest first. */
  readonly layers: readonly ProbeLayer[];
  readonly options: MergedOptions;
  readonly report: Report;
}

/** A file that an option names, with the place of the option. */
interface NamedFile {
  readonly layer: ProbeLayer;
  readonly path: Path;
  /** Absolute. */
  readonly file: string;
}

/**
 * The probe of one endpoint, or all of its probes as one.
 *
 * @param inherited farthest first: the main file's defaults, the zone's
 * @param own the endpoint's own layers, one for each probe of its list; none = what is inherited
 */
export function buildEndpointProbe(
  inherited: readonly ProbeLayer[],
  own: readonly ProbeLayer[],
  endpoint: ProbedEndpoint,
  report: Report,
): ProbeConfig {
  const [firstLayer, ...otherLayers] = own;
  if (firstLayer === undefined) return buildProbe(inherited, undefined, endpoint, report);
  const first = buildProbe([...inherited, firstLayer], firstLayer, endpoint, report);
  if (otherLayers.length === 0) return first;
  const others = otherLayers.map((layer) => {
    checkListed(layer, report);
    // The schedule is the first's; what the others inherit was judged there.
    const probe = buildProbe(
      [...inherited, firstLayer, layer].map(scheduleOnlyOf(firstLayer)),
      layer,
      endpoint,
      report,
    );
    if (probe.type === "none") refuseNone(layer, report);
    return probe;
  });
  if (first.type === "none") refuseNone(firstLayer, report);
  // A program that comes first has no tripwire itself; the probes after it that connect do.
  const tripwire = [first, ...others].find((probe) => probe.tripwire !== undefined)?.tripwire;
  const schedule = { ...pickSchedule(first), ...(tripwire === undefined ? {} : { tripwire }) };
  return { ...schedule, type: "all", probes: [first, ...others] };
}

/** The options that all probes of a list share. */
const SCHEDULE_KEYS = [
  "interval",
  "timeout",
  "connectTimeout",
  "recheck",
  "rise",
  "fall",
  "thresholds",
  "flap",
  "tripwire",
] as const;

/** Of `first` only its schedule; any other layer as it is. */
function scheduleOnlyOf(first: ProbeLayer): (layer: ProbeLayer) => ProbeLayer {
  const schedule = Object.fromEntries(
    SCHEDULE_KEYS.flatMap((key) => (first.options[key] === undefined ? [] : [[key, first.options[key]]])),
  ) as ProbeInput;
  return (layer) => (layer === first ? { ...layer, options: schedule } : layer);
}

function pickSchedule(probe: SingleProbeConfig): ProbeSchedule {
  const { intervalMs, timeoutMs, connectTimeoutMs, recheckMs, rise, fall, thresholds, flap, tripwire } = probe;
  return {
    intervalMs,
    timeoutMs,
    ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
    recheckMs,
    rise,
    fall,
    ...(thresholds === undefined ? {} : { thresholds }),
    ...(flap === undefined ? {} : { flap }),
    ...(tripwire === undefined ? {} : { tripwire }),
  };
}

/** Reports what a probe of a list that is not the first must leave to the first. */
function checkListed(layer: ProbeLayer, report: Report): void {
  for (const key of SCHEDULE_KEYS) {
    if (layer.options[key] === undefined) continue;
    const at = [...layer.path, key];
    report(
      problemAtKey(layer.source, at, {
        message: `${formatPath(at)} is given, but all probes of the list are made at once: the first has the schedule.`,
        remedy: `Move "${key}" to the first probe of the list.`,
        code: "CONFIG_PROBE_LIST",
      }),
    );
  }
}

function refuseNone({ source, path: at }: ProbeLayer, report: Report): void {
  report(
    problemAt(source, at, {
      message: `${formatPath(at)} is of type none, which passes always: it says nothing beside other probes.`,
      remedy: "Remove it from the list.",
      code: "CONFIG_PROBE_LIST",
    }),
  );
}

/**
 * One probe: each option from the nearest layer that writes it, else the built-in default.
 *
 * @param layers farthest first
 * @param own the endpoint's own layer, whose options must fit the type that comes out; it is one of `layers`
 */
function buildProbe(
  layers: readonly ProbeLayer[],
  own: ProbeLayer | undefined,
  endpoint: ProbedEndpoint,
  report: Report,
): SingleProbeConfig {
  const options: MergedOptions = Object.assign({}, BUILT_IN, ...layers.map((layer) => layer.options));
  const merge: Merge = { layers, options, report };
  const { type } = options;
  // The defaults give way to a short interval; a value that somebody wrote does not.
  if (rank(layers, "timeout") < 0) options.timeout = Math.min(options.timeout, 1.5 * options.interval);
  if (rank(layers, "recheck") < 0) options.recheck = Math.min(options.recheck, options.interval);
  for (const layer of layers) {
    // An option that is inherited from afar and does not fit is left alone: it was meant for other endpoints.
    const stated = layer === own ? type : layer.options.type;
    if (stated !== undefined && !overruled(layers, "type")) checkOptionsFit(layer, stated, report);
  }
  if (type !== "none") checkSchedule(layers, options, report);
  const schedule = scheduleOf(options);
  const port = options.port ?? endpoint.port;
  if (type === "none") return { ...schedule, type };
  if (type === "exec") return { ...schedule, type, port, command: buildCommand(merge) };
  if (type === "tcp") return { ...schedule, type, port };
  const token = fileOf(merge, "bearerTokenFile");
  const request: HttpRequestConfig = {
    path: options.path,
    expectStatus: options.expectStatus,
    serverName: options.serverName ?? endpoint.fqdn,
    port,
    ...(token === undefined ? {} : { bearerTokenFile: token.file }),
  };
  if (token !== undefined) checkToken(token.layer.source, token.path, token.file, report);
  if (type === "http") {
    if (token !== undefined) {
      warnOfExposure(token, "an http probe sends the token in clear text", 'Use "type: https".', report);
    }
    return { ...schedule, type, ...request };
  }
  const tls = buildTls(merge);
  if (tls.insecureSkipVerify && token !== undefined) {
    const remedy = 'Name the authorities with "ca" instead.';
    warnOfExposure(token, "with insecureSkipVerify the token goes to whoever answers", remedy, report);
  }
  return { ...schedule, type, ...request, ...tls, resumeTls: options.resumeTls };
}

function warnOfExposure({ layer, path: at }: NamedFile, why: string, remedy: string, report: Report): void {
  report(
    problemAt(layer.source, at, {
      message: `${formatPath(at)}: ${why}.`,
      remedy,
      code: "CONFIG_TOKEN_EXPOSED",
      severity: "warning",
    }),
  );
}

function buildCommand({ layers, options: { command }, report }: Merge): readonly string[] {
  const layer = layers[rank(layers, "command")];
  if (command === undefined || layer === undefined) {
    // Point at what asks for a program, which may be a place far from the endpoint.
    const asking = layers[rank(layers, "type")];
    if (asking !== undefined && !layers.some((one) => one.damaged("command"))) {
      const at = [...asking.path, "type"];
      report(
        problemAt(asking.source, at, {
          message: `${formatPath(at)} is "exec", but there is no command.`,
          remedy: 'Add "command" with the program and its arguments, such as ["/usr/local/bin/check-apiserver"].',
          code: "CONFIG_PROBE_COMMAND",
        }),
      );
    }
    return ["false"];
  }
  checkProgram(layer.source, [...layer.path, "command"], command[0] ?? "", report);
  return command;
}

function fileOf({ layers, options }: Merge, key: "bearerTokenFile" | "ca"): NamedFile | undefined {
  const value = options[key];
  const layer = layers[rank(layers, key)];
  if (value === undefined || layer === undefined) return undefined;
  return { layer, path: [...layer.path, key], file: path.resolve(layer.source.directory, value) };
}

function buildTls(merge: Merge): Pick<HttpsProbeConfig, "ca" | "insecureSkipVerify" | "clientCertificate"> {
  const { layers, options, report } = merge;
  const skip = options.insecureSkipVerify;
  const skipRank = rank(layers, "insecureSkipVerify");
  const ca = fileOf(merge, "ca");
  // Of `ca` and `insecureSkipVerify` the nearer one says what is meant; in one place they contradict each other.
  if (skip && ca !== undefined && rank(layers, "ca") === skipRank) {
    const at = [...ca.layer.path, "insecureSkipVerify"];
    report(
      problemAt(ca.layer.source, at, {
        message: `${formatPath(at)} is true, but ca is given: nothing would be verified with it.`,
        remedy: 'Remove "insecureSkipVerify", or remove "ca".',
        code: "CONFIG_PROBE_VERIFY",
      }),
    );
  }
  const insecureSkipVerify = skip && rank(layers, "ca") <= skipRank;
  if (ca !== undefined && !insecureSkipVerify) checkCertificates(ca.layer.source, ca.path, ca.file, report);
  const clientCertificate = buildClientCertificate(merge);
  return {
    insecureSkipVerify,
    ...(ca === undefined || insecureSkipVerify ? {} : { ca: ca.file }),
    ...(clientCertificate === undefined ? {} : { clientCertificate }),
  };
}

function buildClientCertificate({ layers, options, report }: Merge): HttpsProbeConfig["clientCertificate"] {
  const certificate = options.clientCertificate;
  const layer = layers[rank(layers, "clientCertificate")];
  if (certificate === undefined || layer === undefined) return undefined;
  const at = [...layer.path, "clientCertificate"];
  const cert = path.resolve(layer.source.directory, certificate.cert);
  const key = path.resolve(layer.source.directory, certificate.key);
  const parsed = checkCertificates(layer.source, [...at, "cert"], cert, report);
  checkPrivateKey(layer.source, [...at, "key"], key, parsed, report);
  return { cert, key };
}

function scheduleOf(options: MergedOptions): ProbeSchedule {
  const { type, flap, thresholds } = options;
  return {
    intervalMs: options.interval,
    timeoutMs: options.timeout,
    recheckMs: options.recheck,
    rise: options.rise,
    fall: options.fall,
    flap: {
      limit: flap?.limit ?? builtIn(flapOptions.limit),
      windowMs: flap?.window ?? builtIn(flapOptions.window),
    },
    ...(thresholds === undefined ? {} : { thresholds }),
    ...(type === "none" || type === "exec" ? {} : connectingOf(options)),
  };
}

/** What only a probe that makes a connection has. */
function connectingOf({ connectTimeout, timeout, tripwire }: MergedOptions) {
  return { ...(connectTimeout < timeout ? { connectTimeoutMs: connectTimeout } : {}), tripwire };
}

/** Index of the layer that an option comes from; higher is nearer, -1 is the built-in default. */
function rank(layers: readonly ProbeLayer[], key: Key): number {
  return layers.findLastIndex((layer) => layer.options[key] !== undefined);
}

/** Whether a nearer layer wrote the option too, but wrongly: what would hold is not known, so nothing is compared. */
function overruled(layers: readonly ProbeLayer[], key: Key): boolean {
  return layers.findLastIndex((layer) => layer.damaged(key)) > rank(layers, key);
}

function checkOptionsFit(layer: ProbeLayer, type: ProbeType, report: Report): void {
  for (const key of Object.keys(layer.options) as Key[]) {
    const types = probeTypesOf.get(probeOptions[key])?.types ?? [];
    if (layer.options[key] === undefined || types.includes(type)) continue;
    const name = [...layer.path, key];
    report(
      problemAtKey(layer.source, name, {
        message: `${formatPath(name)} is given, but a probe of type ${type} has no such option.`,
        remedy: `Remove it, or use "type: ${types.join('" or "type: ')}".`,
        code: "CONFIG_PROBE_OPTION",
      }),
    );
  }
}

/** The time that `interval` must not be shorter than, and what happens if it is. */
const LIMITED_BY_INTERVAL = [
  { key: "timeout", code: "CONFIG_PROBE_OVERLAP", why: "probes would overlap" },
  { key: "recheck", code: "CONFIG_PROBE_RECHECK", why: "the recheck would come after the next probe" },
] as const;

function checkSchedule(layers: readonly ProbeLayer[], options: MergedOptions, report: Report): void {
  const rankOf = (key: Key) => rank(layers, key);
  const interval = formatDuration(options.interval);
  for (const { key, code, why } of LIMITED_BY_INTERVAL) {
    const isShort = options[key] <= options.interval || (key === "timeout" && options.timeout <= BUILT_IN.timeout);
    if (isShort || overruled(layers, key) || overruled(layers, "interval")) continue;
    const limited = formatDuration(options[key]);
    // A timeout of the default's length is good at any interval: the next probe waits.
    const most = formatDuration(key === "timeout" ? Math.max(options.interval, BUILT_IN.timeout) : options.interval);
    // Point at the nearer of the two: the other may well be right for other endpoints.
    const nearer = rankOf(key) >= rankOf("interval") ? key : "interval";
    const layer = layers[rankOf(nearer)];
    if (layer === undefined) continue;
    const at = [...layer.path, nearer];
    const finding =
      nearer === key
        ? { is: `is ${limited}, but interval is ${interval}`, remedy: `Use at most ${most}.` }
        : {
            is: `is ${interval}, but ${key} is ${limited}`,
            remedy: `Set "interval" to at least ${limited}, or "${key}" to at most ${most}.`,
          };
    const message = `${formatPath(at)} ${finding.is}: ${why}.`;
    report(problemAt(layer.source, at, { message, remedy: finding.remedy, code }));
  }
}
