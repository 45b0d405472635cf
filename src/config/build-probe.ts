import path from "node:path";
import type { HttpRequestConfig, HttpsProbeConfig, ProbeConfig, ProbeSchedule } from "./config.js";
import { checkCertificates, checkPrivateKey, checkProgram, checkToken } from "./credentials.js";
import { formatDuration } from "./duration.js";
import type { Path } from "./positions.js";
import { formatPath } from "./quote.js";
import { builtIn, flapOptions, type ProbeInput, type ProbeType, probeOptions, probeTypesOf } from "./schema.js";
import { problemAt, problemAtKey, type Report, type Source } from "./source.js";

/** The options of one `probe:` and where they stand. */
export interface ProbeLayer {
  readonly source: Source;
  /** Of the mapping `probe`. */
  readonly path: Path;
  readonly options: ProbeInput;
  /** Whether the option was written wrongly there and left out. */
  damaged(key: string): boolean;
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

/**
 * The probe of one endpoint: each option from the nearest layer that writes it, else the built-in default.
 *
 * @param layers farthest first: the main file's defaults, the zone's, the endpoint's
 * @param own the endpoint's own layer, whose options must fit the type that comes out; it is one of `layers`
 */
export function buildProbe(
  layers: readonly ProbeLayer[],
  own: ProbeLayer | undefined,
  endpoint: ProbedEndpoint,
  report: Report,
): ProbeConfig {
  const options: MergedOptions = Object.assign({}, BUILT_IN, ...layers.map((layer) => layer.options));
  const rankOf = (key: Key) => rank(layers, key);
  const { type } = options;
  // The defaults give way to a short interval; a value that somebody wrote does not.
  if (rankOf("timeout") < 0) options.timeout = Math.min(options.timeout, options.interval);
  if (rankOf("recheck") < 0) options.recheck = Math.min(options.recheck, options.interval);
  for (const layer of layers) {
    // An option that is inherited from afar and does not fit is left alone: it was meant for other endpoints.
    const stated = layer === own ? type : layer.options.type;
    if (stated !== undefined && !overruled(layers, "type")) checkOptionsFit(layer, stated, report);
  }
  if (type !== "none") checkSchedule(layers, options, report);
  const schedule = scheduleOf(options);
  const port = options.port ?? endpoint.port;
  if (type === "none") return { ...schedule, type };
  if (type === "exec") return { ...schedule, type, port, command: buildCommand() };
  if (type === "tcp") return { ...schedule, type, port };
  const token = fileOf("bearerTokenFile");
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
      report(
        problemAt(token.layer.source, token.path, {
          message: `${formatPath(token.path)}: an http probe sends the token in clear text.`,
          remedy: 'Use "type: https".',
          code: "CONFIG_TOKEN_EXPOSED",
          severity: "warning",
        }),
      );
    }
    return { ...schedule, type, ...request };
  }
  const tls = buildTls();
  if (tls.insecureSkipVerify && token !== undefined) {
    report(
      problemAt(token.layer.source, token.path, {
        message: `${formatPath(token.path)}: with insecureSkipVerify the token goes to whoever answers.`,
        remedy: 'Name the authorities with "ca" instead.',
        code: "CONFIG_TOKEN_EXPOSED",
        severity: "warning",
      }),
    );
  }
  return { ...schedule, type, ...request, ...tls, resumeTls: options.resumeTls };

  function buildCommand(): readonly string[] {
    const { command } = options;
    const layer = layers[rankOf("command")];
    if (command === undefined || layer === undefined) {
      // Point at what asks for a program, which may be a place far from the endpoint.
      const asking = layers[rankOf("type")];
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
    const at = [...layer.path, "command"];
    checkProgram(layer.source, at, command[0] ?? "", report);
    return command;
  }

  function fileOf(key: "bearerTokenFile" | "ca") {
    const value = options[key];
    const layer = layers[rankOf(key)];
    if (value === undefined || layer === undefined) return undefined;
    return { layer, path: [...layer.path, key], file: path.resolve(layer.source.directory, value) };
  }

  function buildTls(): Pick<HttpsProbeConfig, "ca" | "insecureSkipVerify" | "clientCertificate"> {
    const skip = options.insecureSkipVerify;
    const skipRank = rankOf("insecureSkipVerify");
    const ca = fileOf("ca");
    // Of `ca` and `insecureSkipVerify` the nearer one says what is meant; in one place they contradict each other.
    if (skip && ca !== undefined && rankOf("ca") === skipRank) {
      report(
        problemAt(ca.layer.source, [...ca.layer.path, "insecureSkipVerify"], {
          message: `${formatPath([...ca.layer.path, "insecureSkipVerify"])} is true, but ca is given: nothing would be verified with it.`,
          remedy: 'Remove "insecureSkipVerify", or remove "ca".',
          code: "CONFIG_PROBE_VERIFY",
        }),
      );
    }
    const insecureSkipVerify = skip && rankOf("ca") <= skipRank;
    if (ca !== undefined && !insecureSkipVerify) checkCertificates(ca.layer.source, ca.path, ca.file, report);
    let clientCertificate: HttpsProbeConfig["clientCertificate"];
    const certificate = options.clientCertificate;
    const layer = layers[rankOf("clientCertificate")];
    if (certificate !== undefined && layer !== undefined) {
      const at = [...layer.path, "clientCertificate"];
      const cert = path.resolve(layer.source.directory, certificate.cert);
      const key = path.resolve(layer.source.directory, certificate.key);
      const parsed = checkCertificates(layer.source, [...at, "cert"], cert, report);
      checkPrivateKey(layer.source, [...at, "key"], key, parsed, report);
      clientCertificate = { cert, key };
    }
    return {
      insecureSkipVerify,
      ...(ca === undefined || insecureSkipVerify ? {} : { ca: ca.file }),
      ...(clientCertificate === undefined ? {} : { clientCertificate }),
    };
  }
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
    ...(type === "none" || type === "exec" ? {} : { tripwire: options.tripwire }),
  };
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
    if (options[key] <= options.interval || overruled(layers, key) || overruled(layers, "interval")) continue;
    const limited = formatDuration(options[key]);
    // Point at the nearer of the two: the other may well be right for other endpoints.
    const nearer = rankOf(key) >= rankOf("interval") ? key : "interval";
    const layer = layers[rankOf(nearer)];
    if (layer === undefined) continue;
    const at = [...layer.path, nearer];
    const finding =
      nearer === key
        ? { is: `is ${limited}, but interval is ${interval}`, remedy: `Use at most ${interval}.` }
        : {
            is: `is ${interval}, but ${key} is ${limited}`,
            remedy: `Use at least ${limited}, or set "${key}" to at most ${interval}.`,
          };
    const message = `${formatPath(at)} ${finding.is}: ${why}.`;
    report(problemAt(layer.source, at, { message, remedy: finding.remedy, code }));
  }
}
