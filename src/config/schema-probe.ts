import { z } from "zod";
import { parseAddress } from "./address.js";
import type { FailureClass } from "./config.js";
import { parseName } from "./name.js";
import { choice, duration, flag, httpPath, leaf, text, wholeNumber } from "./option.js";
import type { Verdict } from "./parse-result.js";

/* Every option of `probe`. */

/** The probe types this version runs. */
const PROBE_TYPES = ["https", "http", "tcp", "exec", "none"] as const;

export type ProbeType = (typeof PROBE_TYPES)[number];

/** The probe types that each option of a probe belongs to. */
export const probeTypesOf = z.registry<{ types: readonly ProbeType[] }>();

const ACTIVE: readonly ProbeType[] = ["https", "http", "tcp", "exec"];
const CONNECTING: readonly ProbeType[] = ["https", "http", "tcp"];
const HTTP: readonly ProbeType[] = ["https", "http"];
const TLS: readonly ProbeType[] = ["https"];
const EXEC: readonly ProbeType[] = ["exec"];

function probeOption<S extends z.ZodType>(types: readonly ProbeType[], schema: S) {
  const option = schema.optional();
  probeTypesOf.add(option, { types });
  return option;
}

/** What an option wants that names a file. */
export const FILE_PATH = "the path of a file";

/** Failures in a row by class of result: one option for each, so that a misspelt class is an error. */
const thresholdOptions = {
  "not-ready": threshold("not-ready"),
  overloaded: threshold("overloaded"),
  "auth-required": threshold("auth-required"),
  "unexpected-status": threshold("unexpected-status"),
  refused: threshold("refused"),
  reset: threshold("reset"),
  unreachable: threshold("unreachable"),
  timeout: threshold("timeout"),
  "tls-untrusted": threshold("tls-untrusted"),
  "tls-name-mismatch": threshold("tls-name-mismatch"),
  "tls-expired": threshold("tls-expired"),
  "tls-protocol": threshold("tls-protocol"),
  "malformed-response": threshold("malformed-response"),
} as const satisfies Record<FailureClass, z.ZodType>;

function threshold(name: FailureClass) {
  return wholeNumber(
    { min: 1, max: 100 },
    { about: `Failures in a row of class ${name} that bring a target down.` },
  ).optional();
}

export const flapOptions = {
  limit: wholeNumber(
    { min: 1, max: 100 },
    { about: "Changes in the window that are not held against a target.", default: 5 },
  ).optional(),
  window: duration(
    { min: "1m", max: "24h" },
    { about: "Time over which changes are counted; also the longest that a target is held.", default: "10m" },
  ).optional(),
} as const;

/** Options of `probe`, in a main file's `defaults`, a zone or an endpoint; the nearest one that is written holds. */
export const probeOptions = {
  type: probeOption(
    PROBE_TYPES,
    choice(PROBE_TYPES, {
      about:
        "How a target is probed: HTTPS request, HTTP request, TCP connection, a program that is run, or not at all (always up).",
      default: "https",
    }),
  ),
  interval: probeOption(
    ACTIVE,
    duration(
      { min: "100ms", max: "1h" },
      { about: "Time between the starts of two probes of one address, ±10 %.", default: "2s" },
    ),
  ),
  timeout: probeOption(
    ACTIVE,
    duration(
      { min: "50ms", max: "1m" },
      {
        about: "Time in which a whole probe must finish; at most the interval, or 3 s if that is more.",
        default: "3s",
      },
    ),
  ),
  connectTimeout: probeOption(
    CONNECTING,
    duration(
      { min: "50ms", max: "1m" },
      {
        about:
          "Time in which a probe must have its connection; never longer than the timeout. The default lets a lost packet be sent again, after 1 s.",
        default: "1500ms",
      },
    ),
  ),
  recheck: probeOption(
    ACTIVE,
    duration(
      { min: "50ms", max: "1h" },
      {
        about: "Time to the next probe after a result that contradicts the present health; at most the interval.",
        default: "1s",
      },
    ),
  ),
  rise: probeOption(
    ACTIVE,
    wholeNumber({ min: 1, max: 100 }, { about: "Successes in a row that bring a target up.", default: 2 }),
  ),
  fall: probeOption(
    ACTIVE,
    wholeNumber({ min: 1, max: 100 }, { about: "Failures in a row that bring a target down.", default: 3 }),
  ),
  thresholds: probeOption(
    ACTIVE,
    z.strictObject(thresholdOptions, { error: () => "thresholds" }).meta({
      description:
        "Failures in a row that bring a target down, by class of result; for a class that is not named: 2 for refused, not-ready and tls-expired, two thirds of fall for timeout, else fall.",
    }),
  ),
  flap: probeOption(
    ACTIVE,
    z.strictObject(flapOptions, { error: () => "flap" }).meta({
      description:
        "A target that changed more often than this must pass without a break for a growing time before it returns.",
    }),
  ),
  tripwire: probeOption(
    CONNECTING,
    flag({
      about: "Keep one idle connection to each target, whose end makes a probe run at once.",
      default: true,
    }),
  ),
  port: probeOption(ACTIVE, wholeNumber({ min: 1, max: 65_535 }, { about: "Port to probe; default: the endpoint's." })),
  path: probeOption(HTTP, httpPath({ about: "Path that is requested.", default: "/readyz" })),
  expectStatus: probeOption(
    HTTP,
    z
      .array(wholeNumber({ min: 100, max: 599 }, { about: "An HTTP status code." }))
      .min(1)
      .meta({ description: "Status codes that count as a success.", default: [200] }),
  ),
  serverName: probeOption(
    HTTP,
    leaf(
      { type: "string" },
      {
        about:
          "Host header and name or IP address in the certificate; a name is sent as SNI too. Default: the endpoint's name.",
      },
      readServerName,
    ),
  ),
  bearerTokenFile: probeOption(
    HTTP,
    text(FILE_PATH, { about: "File with a bearer token to send, relative to this file; read again when it changes." }),
  ),
  ca: probeOption(
    TLS,
    text(FILE_PATH, {
      about:
        "PEM file of the authorities that may sign the target's certificate, relative to this file; default: the system's.",
    }),
  ),
  insecureSkipVerify: probeOption(
    TLS,
    flag({ about: "Accept any certificate: anyone in between can then pose as a healthy target.", default: false }),
  ),
  resumeTls: probeOption(
    TLS,
    flag({
      about:
        "Resume TLS sessions for up to five minutes, which saves work with thousands of targets; a changed certificate is then noticed up to five minutes later.",
      default: false,
    }),
  ),
  command: probeOption(
    EXEC,
    z
      .array(text("a program or an argument", { about: "The program, or one of its arguments." }))
      .min(1)
      .meta({
        description:
          "Program and arguments, without a shell; a name with a slash is absolute. Exit code 0 passes, 1 means not ready. It is told LIVEZONE_ENDPOINT, _TARGET, _ADDRESS, _PORT and _TIMEOUT_MS.",
      }),
  ),
  clientCertificate: probeOption(
    TLS,
    z
      .strictObject(
        {
          cert: text(FILE_PATH, { about: "PEM file of the certificate, then of its intermediates." }),
          key: text(FILE_PATH, { about: "PEM file of the certificate's private key, not encrypted." }),
        },
        { error: () => "clientCertificate" },
      )
      .meta({ description: "Certificate to present to the target; files relative to this file." }),
  ),
} as const;

/** The options of one `probe:`. */
export const probeSchema = z
  .strictObject(probeOptions, { error: () => "probe" })
  .meta({ description: "How targets are probed; each option from the nearest place that writes it." });

export type ProbeInput = z.output<typeof probeSchema>;

function readServerName(value: unknown): Verdict<string> {
  const looksLikeAddress = typeof value === "string" && (/^[0-9.]+$/.test(value) || value.includes(":"));
  return looksLikeAddress ? parseAddress(value) : parseName(value, "hostname");
}
