import { describe, expect, test } from "vitest";
import type { Config, ProbeConfig } from "../../src/config/config.js";
import { createAuthority } from "../../src/demo/certificates.js";
import type { Problem } from "../../src/lib/errors.js";
import { loadRight, loadWrong, MAIN, zoneWith } from "./folder.js";

/** The probe of the only endpoint. */
function onlyProbe(config: Config): ProbeConfig {
  const probe = config.zones[0]?.endpoints[0]?.probe;
  if (probe === undefined) throw new Error("there is no endpoint");
  return probe;
}

/** The probe of the endpoint `api`, with `probe:` options as flow mappings at three places. */
function probeFrom(defaults: string, zone: string, endpoint: string): ProbeConfig {
  const { config } = loadRight({
    "livezone.yaml": `${MAIN}defaults: { probe: {${defaults}} }\n`,
    "zone.yaml": `${zoneWith(`probe: {${endpoint}}`)}probe: {${zone}}\n`,
    "ca.crt": caPem,
    token: "abc\n",
  });
  return onlyProbe(config);
}

/** The probe of an endpoint with these lines. */
const probeOf = (lines: string) => onlyProbe(loadRight({ "zone.yaml": zoneWith(lines) }).config);

/** What is wrong when `probe:` options stand in the main file's defaults, in the zone, and in the endpoint. */
function wrongFrom(defaults: string, zone: string, endpoint: string): readonly Problem[] {
  return loadWrong({
    "livezone.yaml": `${MAIN}defaults: { probe: {${defaults}} }\n`,
    "zone.yaml": `${zoneWith(`probe: ${endpoint}`)}probe: {${zone}}\n`,
  });
}

const { caPem } = await createAuthority();

describe("probe options come from the nearest place that writes them", () => {
  test("each by itself", () => {
    expect(probeFrom("interval: 9s, timeout: 8s, rise: 7", "timeout: 6s, fall: 5", "fall: 4")).toMatchObject({
      intervalMs: 9000,
      timeoutMs: 6000,
      rise: 7,
      fall: 4,
      recheckMs: 1000,
    });
  });

  test("thresholds and flap as a whole, with the defaults for what they leave out", () => {
    const far = "thresholds: { timeout: 5, refused: 1 }, flap: { limit: 9 }";
    expect(probeFrom(far, "", "flap: { window: 1h }")).toMatchObject({
      thresholds: { timeout: 5, refused: 1 },
      flap: { limit: 5, windowMs: 3_600_000 },
    });
    expect(probeFrom(far, "thresholds: { reset: 2 }", "")).toMatchObject({
      thresholds: { reset: 2 },
      flap: { limit: 9, windowMs: 600_000 },
    });
    expect(probeFrom(far, "thresholds: { reset: 2 }", "")).not.toHaveProperty("thresholds.timeout");
  });

  test("a program is told the port, and has no tripwire", () => {
    const probe = probeFrom("", "", "type: exec, command: [/bin/sh, -c, exit 0], timeout: 1s");
    expect(probe).toMatchObject({ type: "exec", command: ["/bin/sh", "-c", "exit 0"], port: 6443, timeoutMs: 1000 });
    expect(probe).not.toHaveProperty("tripwire");
  });

  test("the port is the endpoint's unless the probe has its own", () => {
    expect(probeFrom("", "", "")).toMatchObject({ port: 6443 });
    expect(probeFrom("", "port: 6444", "")).toMatchObject({ port: 6444 });
  });

  test("an inherited option that does not fit the type is left alone", () => {
    expect(probeFrom("path: /livez, ca: ca.crt", "", "type: tcp")).toEqual({
      type: "tcp",
      port: 6443,
      intervalMs: 2000,
      timeoutMs: 3000,
      connectTimeoutMs: 1500,
      recheckMs: 1000,
      rise: 2,
      fall: 3,
      flap: { limit: 5, windowMs: 600_000 },
      tripwire: true,
    });
    expect(probeFrom("interval: 1s", "type: none", "")).toMatchObject({ type: "none", intervalMs: 1000 });
  });

  test("the default timeout and recheck give way to a short interval", () => {
    expect(probeFrom("", "", "interval: 500ms")).toMatchObject({ timeoutMs: 750, recheckMs: 500 });
  });

  test("the connection has a time of its own only if that is the shorter one", () => {
    expect(probeFrom("", "", "timeout: 2s, connectTimeout: 1s")).toMatchObject({ connectTimeoutMs: 1000 });
    expect(probeFrom("", "", "timeout: 1s")).not.toHaveProperty("connectTimeoutMs");
    expect(probeFrom("", "", "timeout: 1s, connectTimeout: 1s")).not.toHaveProperty("connectTimeoutMs");
  });

  test("of ca and insecureSkipVerify the nearer one holds", () => {
    const skipping = probeFrom("ca: ca.crt", "", "insecureSkipVerify: true");
    expect(skipping).toMatchObject({ insecureSkipVerify: true });
    expect(skipping).not.toHaveProperty("ca");
    expect(probeFrom("insecureSkipVerify: true", "", "ca: ca.crt")).toMatchObject({
      insecureSkipVerify: false,
      ca: expect.stringMatching(/^\/.*\/ca\.crt$/),
    });
  });

  test("a file is relative to the file that names it", () => {
    const { config } = loadRight({
      "livezone.yaml": "zones: zones/*.yaml\ndefaults: { probe: { ca: pki/ca.crt } }\n",
      "zones/a.yaml": zoneWith("probe: { bearerTokenFile: token }"),
      "pki/ca.crt": `a comment\n${caPem}${caPem}`,
      "zones/token": "abc\n",
    });
    expect(onlyProbe(config)).toMatchObject({
      ca: expect.stringMatching(/[^s]\/pki\/ca\.crt$/),
      bearerTokenFile: expect.stringMatching(/\/zones\/token$/),
    });
  });
});

describe("a list of probes", () => {
  test("shares the schedule of the first, and nothing else of it", () => {
    const probe = probeOf(
      'probe: [{ type: http, port: 9345, path: /supervisor, interval: 4s }, { type: http, serverName: "2001:DB8::1" }]',
    );
    expect(probe).toMatchObject({
      type: "all",
      intervalMs: 4000,
      probes: [
        { type: "http", port: 9345, path: "/supervisor", intervalMs: 4000, serverName: "api.k8s.example.com" },
        { type: "http", port: 6443, path: "/readyz", intervalMs: 4000, serverName: "2001:db8::1" },
      ],
    });
  });

  test("of one is that probe", () => {
    expect(probeOf("probe: [{ type: tcp }]")).toEqual(probeOf("probe: { type: tcp }"));
  });

  test.each([
    { name: "a program comes first", list: "[{ type: exec, command: [/bin/true] }, { type: tcp }]", tripwire: true },
    { name: "the first says no", list: "[{ type: tcp, tripwire: false }, { type: tcp, port: 1 }]", tripwire: false },
  ])("has tripwires or not where $name: $tripwire", ({ list, tripwire }) => {
    expect(probeOf(`probe: ${list}`)).toMatchObject({ type: "all", tripwire });
  });

  test("inherits from afar for each probe, and the schedule of the list for all", () => {
    const { config } = loadRight({
      "livezone.yaml": `${MAIN}defaults: { probe: { type: http, path: /livez, fall: 7 } }\n`,
      "zone.yaml": zoneWith("probe: [{ port: 1, path: /a, fall: 5 }, { port: 2 }]"),
    });
    expect(onlyProbe(config)).toMatchObject({
      fall: 5,
      probes: [
        { type: "http", port: 1, path: "/a", fall: 5 },
        { type: "http", port: 2, path: "/livez", fall: 5 },
      ],
    });
  });

  test("has its thresholds, flapping and tripwire from the first", () => {
    const probe = probeOf(
      "probe: [{ type: tcp, thresholds: { refused: 4 }, flap: { limit: 9 }, tripwire: false }, { type: http }]",
    );
    const schedule = { thresholds: { refused: 4 }, flap: { limit: 9, windowMs: 600_000 }, tripwire: false };
    expect(probe).toMatchObject({ type: "all", ...schedule, probes: [schedule, schedule] });
  });

  test.each([
    "interval: 4s",
    "timeout: 1s",
    "connectTimeout: 1s",
    "recheck: 1s",
    "rise: 1",
    "fall: 1",
    "thresholds: { refused: 1 }",
    "flap: { limit: 1 }",
    "tripwire: false",
  ])("has no %s but in the first", (option) => {
    const key = option.split(":")[0];
    expect(wrongFrom("", "", `[{ type: tcp }, { type: http, ${option} }]`)).toMatchObject([
      {
        message: `endpoints.api.probe[1].${key} is given, but all probes of the list are made at once: the first has the schedule.`,
        remedy: `Move "${key}" to the first probe of the list.`,
        code: "CONFIG_PROBE_LIST",
      },
    ]);
  });

  test("holds no probe of type none, wherever it stands or comes from", () => {
    expect(wrongFrom("", "", "[{ type: none }, { type: tcp }]")).toMatchObject([
      { message: expect.stringMatching(/^endpoints\.api\.probe\[0\] is of type none/), code: "CONFIG_PROBE_LIST" },
    ]);
    expect(wrongFrom("type: none", "", "[{ type: tcp }, { }]")).toMatchObject([
      { message: expect.stringMatching(/^endpoints\.api\.probe\[1\] is of type none/), code: "CONFIG_PROBE_LIST" },
    ]);
  });
});

describe("times that do not fit", () => {
  test("a timeout of the default's length or less is good at any interval", () => {
    expect(probeOf("probe: { interval: 100ms, timeout: 3s, recheck: 50ms }")).toMatchObject({ timeoutMs: 3000 });
    expect(wrongFrom("", "", "{ interval: 100ms, timeout: 3001ms }")).toMatchObject([
      { message: expect.stringContaining("timeout is 3001ms, but interval is 100ms"), remedy: "Use at most 3s." },
    ]);
  });

  test("are told at the nearer of the two, which may be right elsewhere", () => {
    expect(wrongFrom("interval: 10s", "timeout: 12s", "{}")).toMatchObject([
      { message: "probe.timeout is 12s, but interval is 10s: probes would overlap.", remedy: "Use at most 10s." },
    ]);
    expect(wrongFrom("recheck: 4s, interval: 5s", "", "{ interval: 3s }")).toMatchObject([
      {
        message: "endpoints.api.probe.interval is 3s, but recheck is 4s: the recheck would come after the next probe.",
        remedy: 'Set "interval" to at least 4s, or "recheck" to at most 3s.',
        code: "CONFIG_PROBE_RECHECK",
      },
    ]);
  });

  test("are not compared where a nearer one was written wrongly", () => {
    const codes = (problems: readonly Problem[]) => problems.map(({ code }) => code);
    expect(codes(wrongFrom("timeout: 4s, interval: 5s", "", "{ interval: x, recheck: 1s }"))).toEqual([
      "CONFIG_DURATION",
    ]);
    expect(codes(wrongFrom("timeout: 12s, interval: 20s", "timeout: 9", "{ interval: 10s }"))).toEqual([
      "CONFIG_DURATION_UNIT",
    ]);
  });
});

describe("a probe that is a program", () => {
  test("is told where type: exec stands when there is no command, however far", () => {
    expect(wrongFrom("type: exec", "", "{}")).toMatchObject([
      {
        file: expect.stringContaining("livezone.yaml"),
        code: "CONFIG_PROBE_COMMAND",
        remedy: expect.stringContaining('Add "command"'),
      },
    ]);
  });

  test("is not said to lack a command that was written wrongly", () => {
    expect(wrongFrom("", "", "{ type: exec, command: 5 }").map(({ code }) => code)).toEqual(["CONFIG_TYPE"]);
  });

  test("may have its command from afar, which is checked there", () => {
    const { config } = loadRight({
      "livezone.yaml": `${MAIN}defaults: { probe: { type: exec, command: [/bin/sh] } }\n`,
    });
    expect(onlyProbe(config)).toMatchObject({ type: "exec", command: ["/bin/sh"] });
    expect(wrongFrom("command: [/etc/passwd], type: exec", "", "{}")).toMatchObject([
      { file: expect.stringContaining("livezone.yaml"), message: expect.stringContaining("defaults.probe.command") },
    ]);
  });
});

describe("options that do not fit the type", () => {
  test("are told where they stand beside it", () => {
    expect(wrongFrom("", "", "{ type: tcp, path: /x, ca: ca.crt, rise: 1 }").map(({ message }) => message)).toEqual([
      "endpoints.api.probe.path is given, but a probe of type tcp has no such option.",
      "endpoints.api.probe.ca is given, but a probe of type tcp has no such option.",
    ]);
  });

  test("are told when the endpoint's options meet a type from afar", () => {
    expect(wrongFrom("type: tcp", "", "{ path: /x }")).toMatchObject([
      {
        message: "endpoints.api.probe.path is given, but a probe of type tcp has no such option.",
        remedy: 'Remove it, or use "type: https" or "type: http".',
        code: "CONFIG_PROBE_OPTION",
      },
    ]);
  });

  test("are not judged by a type that a nearer place wrote wrongly", () => {
    expect(wrongFrom("type: tcp", "", "{ type: htp, path: /x }").map(({ code }) => code)).toEqual(["CONFIG_CHOICE"]);
  });
});

describe("what verifies the target", () => {
  test("may not be both given and switched off in one place", () => {
    expect(wrongFrom("", "", "{ insecureSkipVerify: true, ca: ca.crt }")).toMatchObject([
      {
        message: "endpoints.api.probe.insecureSkipVerify is true, but ca is given: nothing would be verified with it.",
        code: "CONFIG_PROBE_VERIFY",
      },
    ]);
  });

  test("an authority that a nearer place makes useless is not read", () => {
    expect(probeFrom("ca: absent.crt", "", "insecureSkipVerify: true")).not.toHaveProperty("ca");
  });
});

describe("a token that others could read on its way", () => {
  const warningsOf = (probe: string) =>
    loadRight({ "zone.yaml": zoneWith(`probe: { ${probe}, bearerTokenFile: token }`), token: "abc" }).warnings;

  test.each([
    {
      probe: "type: http",
      message: "endpoints.api.probe.bearerTokenFile: an http probe sends the token in clear text.",
      remedy: 'Use "type: https".',
    },
    {
      probe: "insecureSkipVerify: true",
      message: "endpoints.api.probe.bearerTokenFile: with insecureSkipVerify the token goes to whoever answers.",
      remedy: 'Name the authorities with "ca" instead.',
    },
  ])("is warned of: $probe", ({ probe, message, remedy }) => {
    expect(warningsOf(probe)).toMatchObject([{ message, remedy, code: "CONFIG_TOKEN_EXPOSED", severity: "warning" }]);
  });

  test("is not warned of where the target is verified", () => {
    expect(warningsOf("type: https")).toEqual([]);
  });
});
