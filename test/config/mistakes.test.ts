import { basename } from "node:path";
import { describe, expect, test } from "vitest";
import type { Problem } from "../../src/lib/errors.js";
import { type Files, loadWrong, MAIN, ZONE, zoneWith } from "./folder.js";

/** Marks the expected place in a file; taken out before the file is written. */
const MARK = "¦";

interface Mistake {
  readonly name: string;
  /** With the mark at the place of the problem. */
  readonly files: Files;
  readonly code: string;
  /** What the message must hold. */
  readonly says: string;
  /** What the remedy must hold. */
  readonly remedy: string;
}

const main = (text: string): Files => ({ "livezone.yaml": text });
const zone = (text: string): Files => ({ "zone.yaml": text });
const api = (text: string): Files => zone(zoneWith(text));

const MISTAKES: readonly Mistake[] = [
  // Values of the main file.
  {
    name: "unknown key",
    files: main(`¦intervall: 1\n${MAIN}`),
    code: "CONFIG_UNKNOWN_KEY",
    says: 'unknown key "intervall"',
    remedy: "Use one of listen, workers",
  },
  {
    name: "misspelt key",
    files: main(`${MAIN}¦lisen: "0.0.0.0:53"\n`),
    code: "CONFIG_UNKNOWN_KEY",
    says: 'unknown key "lisen"',
    remedy: 'Did you mean "listen"?',
  },
  {
    name: "merge key",
    files: main(`${MAIN}¦<<: { watch: true }\n`),
    code: "CONFIG_UNKNOWN_KEY",
    says: '"<<"',
    remedy: "no merge keys",
  },
  {
    name: "key of an object's prototype",
    files: main(`${MAIN}¦__proto__: { watch: true }\n`),
    code: "CONFIG_UNKNOWN_KEY",
    says: '"__proto__"',
    remedy: "Use one of",
  },
  {
    name: "key in the wrong place",
    files: main(`${MAIN}defaults:\n  ¦interval: 2s\n`),
    code: "CONFIG_UNKNOWN_KEY",
    says: '"interval" in defaults',
    remedy: '"interval" belongs under "probe"',
  },
  {
    name: "no zones",
    files: main("¦watch: true\n"),
    code: "CONFIG_MISSING",
    says: "zones is missing",
    remedy: 'Add "zones"',
  },
  {
    name: "empty list of zones",
    files: main("zones: ¦[]\n"),
    code: "CONFIG_EMPTY_LIST",
    says: "zones is an empty list",
    remedy: "at least one",
  },
  {
    name: "zone file that is missing",
    files: main("zones:\n  - zone.yaml\n  - ¦zones/other.yaml\n"),
    code: "CONFIG_FILE_UNREADABLE",
    says: "there is no such file",
    remedy: "Name a file",
  },
  {
    name: "zone file that is a folder",
    files: main("zones: [zone.yaml, ¦.]\n"),
    code: "CONFIG_FILE_UNREADABLE",
    says: "it is a directory",
    remedy: "Name a file",
  },
  {
    name: "zone file that is listed as the main file",
    files: main(`¦${ZONE}`),
    code: "CONFIG_WRONG_FILE",
    says: "a zone file",
    remedy: 'under "zones"',
  },
  {
    name: "empty file",
    files: main("# nothing\n"),
    code: "CONFIG_EMPTY",
    says: "the file is empty",
    remedy: "Write the configuration",
  },
  {
    name: "list instead of a mapping",
    files: main("¦- zones\n"),
    code: "CONFIG_TYPE",
    says: "the file is a list",
    remedy: "key: value",
  },
  {
    name: "mapping instead of text",
    files: main("zones: ¦{ a: b }\n"),
    code: "CONFIG_TYPE",
    says: "zones is a mapping",
    remedy: "name of a zone file",
  },
  {
    name: "key without a value",
    files: main(`${MAIN}¦stateDir:\n`),
    code: "CONFIG_EMPTY_VALUE",
    says: "stateDir has no value",
    remedy: 'after "stateDir:"',
  },
  {
    name: "empty text",
    files: main(`${MAIN}stateDir: ¦""\n`),
    code: "CONFIG_EMPTY_VALUE",
    says: "that is empty",
    remedy: "path of a folder",
  },
  {
    name: "yes instead of true",
    files: main(`${MAIN}watch: ¦yes\n`),
    code: "CONFIG_TYPE",
    says: 'watch is "yes"',
    remedy: "Write true.",
  },
  {
    name: "listen without a port",
    files: main(`${MAIN}listen: ¦192.0.2.1\n`),
    code: "CONFIG_LISTEN_ADDRESS",
    says: "the port is missing",
    remedy: '"192.0.2.1:PORT"',
  },
  {
    name: "listen on IPv6 without brackets",
    files: main(`${MAIN}listen: ["192.0.2.1:53", ¦"2001:db8::1:53"]\n`),
    code: "CONFIG_LISTEN_ADDRESS",
    says: "listen[1]",
    remedy: "[2001:db8::1:53]:PORT",
  },
  {
    name: "listen on a name",
    files: main(`${MAIN}listen: ¦localhost:53\n`),
    code: "CONFIG_LISTEN_ADDRESS",
    says: "a name, not an address",
    remedy: "192.0.2.1:53",
  },
  {
    name: "listen on a port alone",
    files: main(`${MAIN}listen: ¦":53"\n`),
    code: "CONFIG_LISTEN_ADDRESS",
    says: "the address is missing",
    remedy: '"0.0.0.0:53"',
  },
  {
    name: "listen on a port that does not exist",
    files: main(`${MAIN}listen: ¦"0.0.0.0:65536"\n`),
    code: "CONFIG_LISTEN_ADDRESS",
    says: "more than 65535",
    remedy: "192.0.2.1:53",
  },
  {
    name: "listen twice on one socket",
    files: main(`${MAIN}listen: ["[::]:53", ¦"[0::0]:53"]\n`),
    code: "CONFIG_LISTEN_DUPLICATE",
    says: '"[::]:53"',
    remedy: "Keep one",
  },
  {
    name: "too many workers",
    files: main(`${MAIN}workers: ¦65\n`),
    code: "CONFIG_RANGE",
    says: "workers is 65",
    remedy: '"auto"',
  },
  {
    name: "log level that does not exist",
    files: main(`${MAIN}log: { level: ¦warning }\n`),
    code: "CONFIG_CHOICE",
    says: '"warning"',
    remedy: 'Did you mean "warn"?',
  },
  {
    name: "token file that is missing",
    files: main(`${MAIN}admin:\n  http: 127.0.0.1:0\n  tokenFile: ¦token\n`),
    code: "CONFIG_FILE_UNREADABLE",
    says: "there is no such file",
    remedy: "relative name",
  },
  {
    name: "token file with two words",
    files: { ...main(`${MAIN}admin:\n  http: 127.0.0.1:0\n  tokenFile: ¦token\n`), token: "open sesame\n" },
    code: "CONFIG_TOKEN_INVALID",
    says: "holds no token",
    remedy: "one line",
  },
  // Durations, counts, TTLs.
  {
    name: "duration without a unit",
    files: main(`${MAIN}defaults: { probe: { timeout: ¦2 } }\n`),
    code: "CONFIG_DURATION_UNIT",
    says: "defaults.probe.timeout is 2",
    remedy: '"2s"',
  },
  {
    name: "quoted duration without a unit",
    files: api('probe: { timeout: ¦"2" }'),
    code: "CONFIG_DURATION_UNIT",
    says: 'timeout is "2"',
    remedy: '"2ms"',
  },
  {
    name: "duration in words",
    files: api("probe: { timeout: ¦2 seconds }"),
    code: "CONFIG_DURATION",
    says: '"2 seconds"',
    remedy: '"5s"',
  },
  {
    name: "duration out of range",
    files: api("probe: { interval: ¦2h }"),
    code: "CONFIG_RANGE",
    says: "the most is 1h",
    remedy: "from 100ms to 1h",
  },
  {
    name: "timeout over the interval",
    files: api("probe:\n  interval: 10s\n  timeout: ¦12s"),
    code: "CONFIG_PROBE_OVERLAP",
    says: "endpoints.api.probe.timeout is 12s, but interval is 10s: probes would overlap.",
    remedy: "Use at most 10s.",
  },
  {
    name: "interval under an inherited timeout",
    files: {
      ...main(`${MAIN}defaults: { probe: { interval: 5s, timeout: 4s } }\n`),
      ...api("probe: { interval: ¦3s }"),
    },
    code: "CONFIG_PROBE_OVERLAP",
    says: "interval is 3s, but timeout is 4s:",
    remedy: 'Set "interval" to at least 4s, or "timeout" to at most 3s.',
  },
  {
    name: "overlap in the defaults, told once",
    files: {
      ...main(`${MAIN}defaults: { probe: { timeout: ¦4s } }\n`),
      ...zone(`${ZONE}  b: { targets: { c: 192.0.2.1 } }\n`),
    },
    code: "CONFIG_PROBE_OVERLAP",
    says: "defaults.probe.timeout is 4s",
    remedy: "Use at most 3s.",
  },
  {
    name: "recheck over the interval",
    files: api("probe: { recheck: ¦3s }"),
    code: "CONFIG_PROBE_RECHECK",
    says: "recheck is 3s, but interval is 2s",
    remedy: "Use at most 2s.",
  },
  {
    name: "TTL of 0",
    files: api("ttl: ¦0"),
    code: "CONFIG_TTL_ZERO",
    says: "resolvers misbehave",
    remedy: "1 to 86400",
  },
  {
    name: "TTL over a day",
    files: api("ttl: ¦86401"),
    code: "CONFIG_RANGE",
    says: "the most is 86400",
    remedy: "seconds",
  },
  { name: "TTL with a unit", files: api("ttl: ¦5s"), code: "CONFIG_TYPE", says: "without a unit", remedy: "Write 5." },
  {
    name: "port in words",
    files: api('port: ¦"abc"'),
    code: "CONFIG_TYPE",
    says: 'endpoints.api.port is "abc"',
    remedy: "from 1 to 65535",
  },
  {
    name: "port in quotes",
    files: api('port: ¦"6443"'),
    code: "CONFIG_TYPE",
    says: "text, not a number",
    remedy: "Write 6443.",
  },
  {
    name: "fraction",
    files: api("minHealthy: ¦1.5"),
    code: "CONFIG_TYPE",
    says: "not a whole number",
    remedy: "from 1",
  },
  {
    name: "not a number at all",
    files: api("port: ¦.nan"),
    code: "CONFIG_TYPE",
    says: "port is NaN",
    remedy: "from 1 to 65535",
  },
  {
    name: "more healthy targets than there are",
    files: api("minHealthy: ¦3"),
    code: "CONFIG_MIN_HEALTHY",
    says: "there are 2 targets",
    remedy: "Use at most 2.",
  },
  // Probes.
  {
    name: "option of another probe type",
    files: api("probe:\n  type: tcp\n  ¦path: /readyz"),
    code: "CONFIG_PROBE_OPTION",
    says: "a probe of type tcp has no such option",
    remedy: '"type: https" or "type: http"',
  },
  {
    name: "ca on http",
    files: api("probe: { type: http, ¦ca: ca.crt }"),
    code: "CONFIG_PROBE_OPTION",
    says: "type http",
    remedy: '"type: https"',
  },
  {
    name: "schedule without probes",
    files: api("probe: { type: none, ¦interval: 5s }"),
    code: "CONFIG_PROBE_OPTION",
    says: "type none",
    remedy: "Remove it",
  },
  {
    name: "option of another type in the defaults",
    files: main(`${MAIN}defaults: { probe: { type: tcp, ¦expectStatus: [200] } }\n`),
    code: "CONFIG_PROBE_OPTION",
    says: "defaults.probe.expectStatus",
    remedy: "Remove it",
  },
  {
    name: "probe type that does not exist",
    files: api("probe: { type: ¦icmp }"),
    code: "CONFIG_CHOICE",
    says: '"icmp"',
    remedy: "https, http, tcp, exec, none",
  },
  {
    name: "exec probe without a program",
    files: api("probe: { type: ¦exec }"),
    code: "CONFIG_PROBE_COMMAND",
    says: 'endpoints.api.probe.type is "exec", but there is no command',
    remedy: 'Add "command"',
  },
  {
    name: "exec probe with a relative path",
    files: api("probe: { type: exec, command: ¦[bin/check] }"),
    code: "CONFIG_PROBE_COMMAND",
    says: "which is a relative path",
    remedy: "whole path",
  },
  {
    name: "exec probe with a file that is no program",
    files: api("probe: { type: exec, command: ¦[/etc/passwd, x] }"),
    code: "CONFIG_PROBE_COMMAND",
    says: "which is no program that this user can run",
    remedy: "executable",
  },
  {
    name: "exec probe with a program that is not in PATH",
    files: api("probe: { type: exec, command: ¦[no-such-program-anywhere] }"),
    code: "CONFIG_PROBE_COMMAND",
    says: "which is not in PATH",
    remedy: "whole path",
  },
  {
    name: "empty command",
    files: api("probe: { type: exec, command: ¦[] }"),
    code: "CONFIG_EMPTY_LIST",
    says: "endpoints.api.probe.command",
    remedy: "at least one",
  },
  {
    name: "threshold for a class that does not exist",
    files: api("probe: { thresholds: { ¦timeouts: 4 } }"),
    code: "CONFIG_UNKNOWN_KEY",
    says: 'unknown key "timeouts" in endpoints.api.probe.thresholds',
    remedy: '"timeout"',
  },
  {
    name: "threshold of nothing",
    files: api("probe: { thresholds: { refused: ¦0 } }"),
    code: "CONFIG_RANGE",
    says: "endpoints.api.probe.thresholds.refused is 0",
    remedy: "from 1 to 100",
  },
  {
    name: "flap window that is too short",
    files: api("probe: { flap: { window: ¦10s } }"),
    code: "CONFIG_RANGE",
    says: "endpoints.api.probe.flap.window",
    remedy: "from 1m to 24h",
  },
  {
    name: "tripwire of a program",
    files: api("probe: { type: exec, command: [sh], ¦tripwire: true }"),
    code: "CONFIG_PROBE_OPTION",
    says: "endpoints.api.probe.tripwire",
    remedy: "https",
  },
  {
    name: "what to do with unknown targets",
    files: api("whenUnknown: ¦maybe"),
    code: "CONFIG_CHOICE",
    says: "endpoints.api.whenUnknown",
    remedy: "withhold, answer",
  },
  {
    name: "misspelt probe option",
    files: api("probe: { ¦intervall: 5s }"),
    code: "CONFIG_UNKNOWN_KEY",
    says: 'unknown key "intervall" in endpoints.api.probe',
    remedy: 'Did you mean "interval"?',
  },
  {
    name: "ca beside insecureSkipVerify",
    files: { ...api("probe:\n  ca: ca.crt\n  insecureSkipVerify: ¦true") },
    code: "CONFIG_PROBE_VERIFY",
    says: "nothing would be verified",
    remedy: 'remove "ca"',
  },
  {
    name: "ca that is missing",
    files: api("probe: { ca: ¦ca.crt }"),
    code: "CONFIG_FILE_UNREADABLE",
    says: "there is no such file",
    remedy: "relative name",
  },
  {
    name: "ca that is no certificate",
    files: { ...api("probe: { ca: ¦ca.crt }"), "ca.crt": "secret" },
    code: "CONFIG_CERTIFICATE_INVALID",
    says: "holds no PEM certificate",
    remedy: "BEGIN CERTIFICATE",
  },
  {
    name: "ca that is damaged",
    files: {
      ...api("probe: { ca: ¦ca.crt }"),
      "ca.crt": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    },
    code: "CONFIG_CERTIFICATE_INVALID",
    says: "certificate 1 of 1 cannot be parsed",
    remedy: "PEM",
  },
  {
    name: "client certificate without its key",
    files: api("probe:\n  ¦clientCertificate: { cert: a.crt }"),
    code: "CONFIG_MISSING",
    says: "clientCertificate.key is missing",
    remedy: 'Add "key"',
  },
  {
    name: "path without a slash",
    files: api("probe: { path: ¦readyz }"),
    code: "CONFIG_PATH",
    says: 'a path starts with "/"',
    remedy: '"/readyz"',
  },
  {
    name: "URL as path",
    files: api("probe: { path: ¦https://a/readyz }"),
    code: "CONFIG_PATH",
    says: "not the path",
    remedy: '"/readyz"',
  },
  {
    name: "status that is not in a list",
    files: api("probe: { expectStatus: ¦200 }"),
    code: "CONFIG_TYPE",
    says: "where a list is needed",
    remedy: "[200]",
  },
  {
    name: "status out of range",
    files: api("probe: { expectStatus: [200, ¦20] }"),
    code: "CONFIG_RANGE",
    says: "expectStatus[1] is 20",
    remedy: "from 100 to 599",
  },
  {
    name: "server name that is almost an address",
    files: api("probe: { serverName: ¦192.0.2.256 }"),
    code: "CONFIG_ADDRESS",
    says: "not an IPv4 or IPv6 address",
    remedy: "192.0.2.11",
  },
  {
    name: "schedule in another probe of a list than the first",
    files: api("probe:\n  - { type: tcp, port: 9345 }\n  - { type: tcp, ¦interval: 4s }"),
    code: "CONFIG_PROBE_LIST",
    says: "the first has the schedule",
    remedy: 'Move "interval"',
  },
  {
    name: "no probe in a list of probes",
    files: api("probe:\n  - { type: tcp }\n  - ¦{ type: none }"),
    code: "CONFIG_PROBE_LIST",
    says: "passes always",
    remedy: "Remove it from the list.",
  },
  {
    name: "empty list of probes",
    files: api("probe: ¦[]"),
    code: "CONFIG_EMPTY_LIST",
    says: "empty list",
    remedy: "at least one",
  },
  {
    name: "list of probes for a zone",
    files: zone(`${ZONE}probe: ¦[{ type: tcp }]\n`),
    code: "CONFIG_TYPE",
    says: "a mapping is needed",
    remedy: "key: value",
  },
  {
    name: "unknown option in a list of probes",
    files: api("probe:\n  - { type: tcp }\n  - { type: tcp, ¦prot: 1 }"),
    code: "CONFIG_UNKNOWN_KEY",
    says: "prot",
    remedy: '"port"',
  },
  {
    name: "target without addresses",
    files: api("targets: { ¦cp1: { probe: { port: 1 } } }"),
    code: "CONFIG_MISSING",
    says: "addresses",
    remedy: "addresses",
  },
  {
    name: "target with an unknown key",
    files: api("targets: { cp1: { addresses: 192.0.2.11, ¦disable: true } }"),
    code: "CONFIG_UNKNOWN_KEY",
    says: "disable",
    remedy: '"disabled"',
  },
  {
    name: "address of a target in its long form",
    files: api("targets: { cp1: { addresses: [192.0.2.11, ¦x] } }"),
    code: "CONFIG_ADDRESS",
    says: "targets.cp1.addresses",
    remedy: "address",
  },
  {
    name: "port of a target's probe",
    files: api("targets: { cp1: { addresses: 192.0.2.11, probe: { port: ¦0 } } }"),
    code: "CONFIG_RANGE",
    says: "the least is 1",
    remedy: "65535",
  },
  {
    name: "address of a target's probe",
    files: api("targets: { cp1: { addresses: 192.0.2.11, probe: { address: ¦cp1.example.com } } }"),
    code: "CONFIG_ADDRESS",
    says: "a name, not an address",
    remedy: "stands for",
  },
  {
    name: "port of a target beside several probes",
    files: api(
      "targets: { cp1: { addresses: 192.0.2.11, probe: { port: ¦7 } } }\nprobe: [{ type: tcp }, { type: http }]",
    ),
    code: "CONFIG_PROBE_LIST",
    says: "a port of its own",
    remedy: "Remove it",
  },
  {
    name: "all targets disabled",
    files: api("targets: ¦{ cp1: { addresses: 192.0.2.11, disabled: true } }"),
    code: "CONFIG_TARGETS_EMPTY",
    says: "all disabled",
    remedy: "disabled: true",
  },
  {
    name: "more healthy targets than there are enabled",
    files: api("targets: { a: 192.0.2.1, b: { addresses: 192.0.2.2, disabled: true } }\nminHealthy: ¦2"),
    code: "CONFIG_MIN_HEALTHY",
    says: "there is 1 target",
    remedy: "Use at most 1.",
  },
  // Endpoints and targets.
  {
    name: "a target that is called like a key of an object's prototype",
    files: api("targets: { ¦__proto__: 192.0.2.11, cp1: 192.0.2.12 }"),
    code: "CONFIG_UNKNOWN_KEY",
    says: '"__proto__" in endpoints.api.targets cannot be a name',
    remedy: "another",
  },
  {
    name: "an endpoint of that name",
    files: zone(`${ZONE}  ¦__proto__: { targets: { cp1: 192.0.2.11 } }\n`),
    code: "CONFIG_UNKNOWN_KEY",
    says: '"__proto__" in endpoints cannot be a name',
    remedy: "another",
  },
  {
    name: "a DNS source without a name",
    files: api("discover: [¦{ type: dns, server: 10.0.0.53 }]"),
    code: "CONFIG_DISCOVER_MISSING",
    says: 'endpoints.api.discover[0] has no "name"',
    remedy: 'Add "name"',
  },
  {
    name: "a misspelt option of a source",
    files: api("discover: [{ type: file, path: a, ¦patth: b }]"),
    code: "CONFIG_UNKNOWN_KEY",
    says: '"patth"',
    remedy: '"path"',
  },
  {
    name: "an option of another source",
    files: api("discover: [{ type: file, path: targets.json, ¦server: 10.0.0.53 }]"),
    code: "CONFIG_DISCOVER_OPTION",
    says: "a source of type file has no such option",
    remedy: 'use "type: dns"',
  },
  {
    name: "no sources",
    files: zone(`${ZONE}  b:\n    discover: ¦[]\n`),
    code: "CONFIG_EMPTY_LIST",
    says: "endpoints.b.discover",
    remedy: "at least one",
  },
  {
    name: "the endpoint's own name as a source",
    files: api("discover: [{ type: dns, name: ¦API.k8s.example.com, server: 10.0.0.53 }]"),
    code: "CONFIG_DISCOVER_OWN_NAME",
    says: "livezone answers itself",
    remedy: "another name",
  },
  {
    name: "a kubeconfig and a Pod's account at once",
    files: api("discover: [{ type: kubernetes, kubeconfig: k, ¦inCluster: true }]"),
    code: "CONFIG_DISCOVER_CREDENTIAL",
    says: "beside kubeconfig",
    remedy: "Remove one",
  },
  {
    name: "no credential",
    files: api("discover: [¦{ type: kubernetes }]"),
    code: "CONFIG_DISCOVER_CREDENTIAL",
    says: "no credential",
    remedy: "kubeconfig",
  },
  {
    name: "discovered targets that nothing probes",
    files: api("discover: ¦[{ type: file, path: targets.json }]\nprobe: { type: none }"),
    code: "CONFIG_DISCOVER_UNPROBED",
    says: "probes decide",
    remedy: "https",
  },
  {
    name: "forgetting without discovery",
    files: api("¦forgetAfter: 1h"),
    code: "CONFIG_DISCOVER_OPTION",
    says: 'without "discover"',
    remedy: "Remove it",
  },
  {
    name: "no targets",
    files: zone(`${ZONE}  ¦b: { port: 6443 }\n`),
    code: "CONFIG_MISSING",
    says: "endpoints.b.targets is missing",
    remedy: "cp1: 192.0.2.11",
  },
  {
    name: "empty targets",
    files: api("targets: ¦{}"),
    code: "CONFIG_TARGETS_EMPTY",
    says: "at least one target",
    remedy: "cp1",
  },
  {
    name: "target without addresses",
    files: api("targets: { cp1: ¦[] }"),
    code: "CONFIG_EMPTY_LIST",
    says: "endpoints.api.targets.cp1 is an empty list",
    remedy: "at least one",
  },
  {
    name: "target id of two labels",
    files: api("targets: { ¦cp1.site: 192.0.2.11 }"),
    code: "CONFIG_TARGET_ID",
    says: "one label",
    remedy: "without dots",
  },
  {
    name: "target id with an underscore",
    files: api("targets: { ¦cp_1: 192.0.2.11 }"),
    code: "CONFIG_TARGET_ID",
    says: "no underscores",
    remedy: '"cp-1"',
  },
  {
    name: "two targets of one id",
    files: api("targets: { cp1: 192.0.2.11, ¦CP1: 192.0.2.12 }"),
    code: "CONFIG_NAME_DUPLICATE",
    says: '"CP1"',
    remedy: "Keep one",
  },
  {
    name: "address twice",
    files: api('targets: { cp1: "2001:db8::1", cp2: [192.0.2.12, ¦"2001:DB8:0::1"] }'),
    code: "CONFIG_ADDRESS_DUPLICATE",
    says: "already at endpoints.api.targets.cp1.",
    remedy: "Keep one",
  },
  {
    name: "address that is a name",
    files: api("targets: { cp1: ¦cp1.example.com }"),
    code: "CONFIG_ADDRESS",
    says: "a name, not an address",
    remedy: "the address",
  },
  {
    name: "URL as an address",
    files: api('targets: { cp1: ¦"https://192.0.2.11:6443" }'),
    code: "CONFIG_ADDRESS",
    says: "a URL, not an address",
    remedy: "the address alone",
  },
  {
    name: "address with a port",
    files: api("targets: { cp1: ¦192.0.2.11:6443 }"),
    code: "CONFIG_ADDRESS",
    says: "with a port",
    remedy: '"port"',
  },
  {
    name: "address that is a number",
    files: api("targets: { cp1: ¦192.0 }"),
    code: "CONFIG_ADDRESS",
    says: "cp1 is 192",
    remedy: "192.0.2.11",
  },
  {
    name: "loopback",
    files: api("targets: { cp1: ¦127.0.0.1 }"),
    code: "CONFIG_ADDRESS_SPECIAL",
    says: "a loopback address",
    remedy: "allowSpecialAddresses",
  },
  {
    name: "link-local",
    files: api('targets: { cp1: [¦"fe80::1"] }'),
    code: "CONFIG_ADDRESS_SPECIAL",
    says: "cp1[0]",
    remedy: "clients reach",
  },
  {
    name: "special fallback",
    files: api("whenAllDown: { addresses: ¦0.0.0.0 }"),
    code: "CONFIG_ADDRESS_SPECIAL",
    says: "an unspecified address",
    remedy: "clients reach",
  },
  {
    name: "whenAllDown that does not exist",
    files: api("whenAllDown: ¦last-health"),
    code: "CONFIG_CHOICE",
    says: '"last-health"',
    remedy: '"last-healthy"',
  },
  {
    name: "whenAllDown with another key",
    files: api("whenAllDown: { ¦address: 192.0.2.1, addresses: [192.0.2.2] }"),
    code: "CONFIG_UNKNOWN_KEY",
    says: '"address" in endpoints.api.whenAllDown',
    remedy: '"addresses"',
  },
  {
    name: "endpoint with the zone's name",
    files: zone(`${ZONE}  ¦api2.k8s.example.com: { targets: { a: 192.0.2.1 } }\n`),
    code: "CONFIG_NAME_ABSOLUTE",
    says: "relative to the zone",
    remedy: '"api2"',
  },
  {
    name: "endpoint with a trailing dot",
    files: zone(`${ZONE}  ¦b.: { targets: { a: 192.0.2.1 } }\n`),
    code: "CONFIG_NAME_ABSOLUTE",
    says: "relative to the zone",
    remedy: '"b"',
  },
  {
    name: "wildcard endpoint",
    files: zone(`${ZONE}  ¦"*.b": { targets: { a: 192.0.2.1 } }\n`),
    code: "CONFIG_NAME",
    says: "wildcards",
    remedy: "each name",
  },
  {
    name: "endpoint with an umlaut",
    files: zone(`${ZONE}  ¦bücher: { targets: { a: 192.0.2.1 } }\n`),
    code: "CONFIG_NAME",
    says: "ASCII",
    remedy: '"xn--bcher-kva"',
  },
  {
    name: "two endpoints of one name",
    files: zone(`${ZONE}  ¦API: { targets: { a: 192.0.2.1 } }\n`),
    code: "CONFIG_NAME_DUPLICATE",
    says: "another endpoint",
    remedy: "Keep one",
  },
  {
    name: "endpoint named as a name server",
    files: zone(`${ZONE}  ¦ns1: { targets: { a: 192.0.2.1 } }\n`),
    code: "CONFIG_NAME_TAKEN",
    says: 'the name server "ns1"',
    remedy: "Rename",
  },
  {
    name: "endpoint named as another's target",
    files: zone(ZONE.replace("cp1:", "¦cp1:").concat("  cp1.api: { targets: { a: 192.0.2.1 } }\n")),
    code: "CONFIG_NAME_TAKEN",
    says: 'the endpoint "cp1.api"',
    remedy: "Rename",
  },
  // Zones.
  {
    name: "no name servers",
    files: zone("¦zone: k8s.example.com\nendpoints: { a: { targets: { a: 192.0.2.1 } } }\n"),
    code: "CONFIG_MISSING",
    says: "nameservers is missing",
    remedy: "ns1: 192.0.2.53",
  },
  {
    name: "empty name servers",
    files: zone(ZONE.replace("{ ns1: 192.0.2.53 }", "¦{}")),
    code: "CONFIG_NAMESERVERS_EMPTY",
    says: "at least one",
    remedy: "ns1",
  },
  {
    name: "name server without glue",
    files: zone(ZONE.replace("192.0.2.53", "¦[]")),
    code: "CONFIG_GLUE_MISSING",
    says: "in the zone",
    remedy: "glue",
  },
  {
    name: "name server with the zone's name",
    files: zone(ZONE.replace("ns1:", "¦ns1.k8s.example.com:")),
    code: "CONFIG_NAME_ABSOLUTE",
    says: "relative to the zone",
    remedy: '"ns1", or end it with a dot',
  },
  {
    name: "zone with a wildcard",
    files: zone(ZONE.replace("k8s.example.com", '¦"*.example.com"')),
    code: "CONFIG_NAME",
    says: "wildcards",
    remedy: "each name",
  },
  {
    name: "zone with an empty label",
    files: zone(ZONE.replace("k8s.example.com", "¦k8s..example.com")),
    code: "CONFIG_NAME",
    says: "a label is empty",
    remedy: "k8s.example.com",
  },
  {
    name: "zone with a long label",
    files: zone(ZONE.replace("k8s.", `¦${"a".repeat(64)}.`)),
    code: "CONFIG_NAME",
    says: "64 characters",
    remedy: "at most 63",
  },
  {
    name: "zone with a long name",
    files: zone(ZONE.replace("k8s.", `¦${"abcdefg.".repeat(31)}`)),
    code: "CONFIG_NAME",
    says: "characters long",
    remedy: "at most 253",
  },
  {
    name: "endpoint with a long name",
    files: zone(ZONE.replace("k8s.example.com", "abcdefg.".repeat(30).slice(0, -1)).replace("api:", "¦api:")),
    code: "CONFIG_NAME_TOO_LONG",
    says: "255 characters",
    remedy: "at least 2",
  },
  {
    name: "zone in two files",
    files: { ...main("zones: [zone.yaml, b.yaml]\n"), "b.yaml": ZONE.replace("zone: ", "zone: ¦") },
    code: "CONFIG_ZONE_DUPLICATE",
    says: "zone.yaml:1:1 has already",
    remedy: "Keep one",
  },
  {
    name: "zone inside another",
    files: { ...main("zones: [zone.yaml, b.yaml]\n"), "b.yaml": ZONE.replace("zone: ", "zone: ¦a.") },
    code: "CONFIG_ZONE_NESTED",
    says: 'inside "k8s.example.com"',
    remedy: "outer zone",
  },
  {
    name: "zone around another",
    files: { ...main("zones: [zone.yaml, b.yaml]\n"), "b.yaml": ZONE.replace("k8s.", "¦") },
    code: "CONFIG_ZONE_NESTED",
    says: 'around "k8s.example.com"',
    remedy: "outer zone",
  },
  {
    name: "contact that is no mailbox",
    files: zone(`${ZONE}soa: { contact: ¦"a b" }\n`),
    code: "CONFIG_CONTACT",
    says: "not a mailbox",
    remedy: "hostmaster@example.com",
  },
  {
    name: "records that are a list",
    files: zone(`${ZONE}records: ¦[a]\n`),
    code: "CONFIG_TYPE",
    says: "records is a list",
    remedy: "records: |",
  },
  // YAML.
  {
    name: "key twice",
    files: zone(`${ZONE}¦zone: b.example.com\n`),
    code: "CONFIG_YAML_DUPLICATE_KEY",
    says: '"zone" is already there',
    remedy: "Keep one",
  },
  {
    name: "tab",
    files: zone("zone: a.example.com\nsoa:\n¦\tcontact: a\n"),
    code: "CONFIG_YAML_SYNTAX",
    says: "tab",
    remedy: "spaces",
  },
  {
    name: "quote that is not closed",
    files: main('zones: "a¦'),
    code: "CONFIG_YAML_SYNTAX",
    says: "missing closing",
    remedy: "quotes",
  },
  {
    name: "bracket that is not closed",
    files: main('listen: ["127.0.0.1:53"\n¦zones: zone.yaml\n'),
    code: "CONFIG_YAML_SYNTAX",
    says: 'a "]" is missing',
    remedy: "brackets and quotes",
  },
  {
    name: "bracket too many",
    files: main("zones: [zone.yaml]¦]\n"),
    code: "CONFIG_YAML_SYNTAX",
    says: '"]" closes a bracket that is not open',
    remedy: "Remove it",
  },
  {
    name: "colon in a plain value",
    files: main("zones: ¦a: b\n"),
    code: "CONFIG_YAML_SYNTAX",
    says: "another key",
    remedy: "double quotes",
  },
  {
    name: "second document",
    files: main(`${MAIN}¦---\nwatch: true\n`),
    code: "CONFIG_YAML_SYNTAX",
    says: "second document",
    remedy: '"---"',
  },
  {
    name: "apex without quotes",
    files: zone(ZONE.replace("api:", "¦@:")),
    code: "CONFIG_YAML_SYNTAX",
    says: 'cannot start with "@"',
    remedy: "double quotes",
  },
  {
    name: "list as key",
    files: main(`${MAIN}¦[a, b]: c\n`),
    code: "CONFIG_YAML_SYNTAX",
    says: "a list or a mapping",
    remedy: "quotes",
  },
  {
    name: "tag",
    files: main("zones: ¦!include zone.yaml\n"),
    code: "CONFIG_YAML_SYNTAX",
    says: "tags",
    remedy: "Remove",
  },
  {
    name: "YAML 1.1",
    files: main(`¦%YAML 1.1\n---\n${MAIN}`),
    code: "CONFIG_YAML_VERSION",
    says: "YAML 1.1",
    remedy: "%YAML",
  },
  {
    name: "alias without an anchor",
    files: main("zones: ¦*nowhere\n"),
    code: "CONFIG_YAML_ALIAS",
    says: '"*nowhere"',
    remedy: "Write the value out",
  },
  {
    name: "alias inside its anchor",
    files: main("zones: &a [¦*a]\n"),
    code: "CONFIG_YAML_ALIAS",
    says: "inside its own anchor",
    remedy: "Write the value out",
  },
  {
    name: "aliases of aliases",
    files: main(
      `¦a0: &a0 [x, x]\n${Array.from({ length: 20 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}]\n`).join("")}`,
    ),
    code: "CONFIG_YAML_ALIAS",
    says: "more than 100 copies",
    remedy: "Write the values out",
  },
  {
    name: "deep brackets",
    files: main(`zones: ${"[".repeat(64)}¦${"[".repeat(200_000)}`),
    code: "CONFIG_YAML_DEPTH",
    says: "64 deep",
    remedy: "without",
  },
  {
    name: "deep dashes",
    files: main(`${"- ".repeat(64)}¦${"- ".repeat(200_000)}a`),
    code: "CONFIG_YAML_DEPTH",
    says: "64 deep",
    remedy: "without",
  },
];

/** The files without the mark, and where it was; at the start of the main file if there was none. */
function unmark(files: Files): { files: Files; file: string; line: number; column: number } {
  let place = { file: "livezone.yaml", line: 1, column: 1 };
  const clean = Object.entries(files).map(([name, content]) => {
    if (typeof content !== "string") return [name, content] as const;
    const before = content.split(MARK)[0] ?? "";
    if (before !== content) {
      const lines = before.split("\n");
      place = { file: name, line: lines.length, column: [...(lines.at(-1) ?? "")].length + 1 };
    }
    return [name, content.replace(MARK, "")] as const;
  });
  return { files: Object.fromEntries(clean), ...place };
}

function summary(problem: Problem): string {
  return `${basename(problem.file)}:${problem.line}:${problem.column} ${problem.code}`;
}

describe("a mistake is told with its place, its cause and its remedy, and nothing else is", () => {
  test.each(MISTAKES)("$name", ({ files, code, says, remedy }) => {
    const expected = unmark(files);
    const problems = loadWrong(expected.files).filter(({ severity }) => severity !== "warning");
    expect(problems.map(summary)).toEqual([`${expected.file}:${expected.line}:${expected.column} ${code}`]);
    expect(problems[0]?.message).toContain(says);
    expect(problems[0]?.remedy).toContain(remedy);
    for (const text of [problems[0]?.message, problems[0]?.remedy]) {
      expect(text).toMatch(/[.?]$/);
      expect(text).not.toMatch(/Invalid input|expected .*, received|undefined|\[object/);
      expect(text).not.toContain("\n");
    }
  });
});

describe("what is wrong in one place", () => {
  test.each([
    { name: "an interval", probe: "probe: { interval: 5, timeout: 9s }", code: "CONFIG_DURATION_UNIT" },
    { name: "a type", probe: "probe: { type: tpc, timeout: 1s, path: /x }", code: "CONFIG_CHOICE" },
    { name: "a target", probe: "targets: { a: 192.0.2.1, b: x }\nminHealthy: 2", code: "CONFIG_ADDRESS" },
  ])("is not held against another: $name", ({ probe, code }) => {
    const files = { "livezone.yaml": `${MAIN}defaults: { probe: { type: tcp } }\n`, "zone.yaml": zoneWith(probe) };
    expect(loadWrong(files)).toMatchObject([{ code }]);
  });

  test("does not hide what is wrong nearer", () => {
    const problems = loadWrong({
      "livezone.yaml": `${MAIN}defaults: { probe: { timeout: 5, interval: x } }\n`,
      "zone.yaml": zoneWith("probe: { interval: 10s, timeout: 12s }"),
    });
    expect(problems.map(({ code }) => code)).toEqual([
      "CONFIG_DURATION_UNIT",
      "CONFIG_DURATION",
      "CONFIG_PROBE_OVERLAP",
    ]);
  });
});

describe("files", () => {
  test("all mistakes of all files are told, the main file's first, top to bottom", () => {
    const problems = loadWrong({
      "livezone.yaml": "watch: 1\nlog: { level: loud }\nzones: [zone.yaml, b.yaml]\n",
      "zone.yaml": zoneWith("port: 0\nttl: 0\nprobe: { type: tcp, path: /x }"),
      "b.yaml": `${ZONE.replace("k8s", "b").replace("192.0.2.53", "127.0.0.1")}sao: {}\n`,
    });
    expect(problems.map(summary)).toEqual([
      "livezone.yaml:1:8 CONFIG_TYPE",
      "livezone.yaml:2:15 CONFIG_CHOICE",
      "zone.yaml:6:11 CONFIG_RANGE",
      "zone.yaml:7:10 CONFIG_TTL_ZERO",
      "zone.yaml:8:25 CONFIG_PROBE_OPTION",
      "b.yaml:2:21 CONFIG_ADDRESS_SPECIAL",
      "b.yaml:6:1 CONFIG_UNKNOWN_KEY",
    ]);
  });

  test("an octet that is not UTF-8 is pointed at", () => {
    const text = Buffer.concat([Buffer.from("zones: zone.yaml\n# gr"), Buffer.from([0xfc]), Buffer.from("n\n")]);
    expect(loadWrong({ "livezone.yaml": text }).map(summary)).toEqual(["livezone.yaml:2:5 CONFIG_NOT_UTF8"]);
  });

  test("a file over 4 MiB is refused unread", () => {
    const [problem] = loadWrong({ "livezone.yaml": Buffer.alloc(4 * 1024 * 1024 + 1, "#") });
    expect(problem?.message).toContain("larger than 4096 KiB");
  });

  test("a value is cut, and cannot move the cursor", () => {
    const [problem] = loadWrong({ "zone.yaml": zoneWith(`whenAllDown: "\\e[31m\\u202e${"x".repeat(100)}"`) });
    expect(problem?.message).toContain(`"\\u001b[31m\\u202e${"x".repeat(74)}…"`);
  });

  test("what a token file or a key holds is never shown", () => {
    const problems = loadWrong({
      "livezone.yaml": `${MAIN}admin: { http: "127.0.0.1:0", tokenFile: token }\n`,
      "zone.yaml": zoneWith("probe:\n  bearerTokenFile: token\n  clientCertificate: { cert: cert, key: key }"),
      token: "sesame open\n",
      cert: "sesame",
      key: "-----BEGIN PRIVATE KEY-----\nsesame\n-----END PRIVATE KEY-----\n",
    });
    expect(problems.map(({ code }) => code)).toEqual([
      "CONFIG_TOKEN_INVALID",
      "CONFIG_TOKEN_INVALID",
      "CONFIG_CERTIFICATE_INVALID",
      "CONFIG_KEY_INVALID",
    ]);
    expect(JSON.stringify(problems)).not.toContain("sesame");
  });
});
