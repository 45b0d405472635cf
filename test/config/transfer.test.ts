import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { mainTransfer, zoneTransfer } from "../../src/config/schema-transfer.js";
import { TRANSFERRED_REFRESH_SECONDS, TRANSFERRED_RETRY_SECONDS } from "../../src/config/transfer.js";
import { readTsigSecret } from "../../src/config/tsig-secret.js";
import { folderWith, loadRight, loadWrong, MAIN, ZONE } from "./folder.js";

const SECRET = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ=";
const KEYS = `${MAIN}transfer: { keys: { Corp: { secretFile: corp.tsig } } }\n`;
const CORP = { "livezone.yaml": KEYS, "corp.tsig": `${SECRET}\n` };

const zone = (transfer: string) => ({ "zone.yaml": `${ZONE}transfer: ${transfer}\n` });

describe("transfer", () => {
  test("left out: nobody, and the timers of a zone that nobody carries", () => {
    const { config } = loadRight();
    expect(config.transfer).toEqual({ keys: [] });
    expect(config.zones[0]?.transfer).toBeUndefined();
    expect(config.zones[0]?.soa).toMatchObject({ refresh: 7200, retry: 900 });
  });

  test("written out: addresses, ports, ranges and keys; the timers are those of a zone that follows health", () => {
    const { config } = loadRight({
      ...CORP,
      ...zone(
        '{ to: [10.0.0.53, "10.1.0.53:5353", { address: "[2001:db8::53]:54", key: corp }], allow: [10.0.0.0/8, { from: "2001:db8::/32", key: CORP }], notify: { minInterval: 1s }, versions: 7 }',
      ),
    });
    expect(config.transfer.keys).toMatchObject([{ name: "corp", algorithm: "hmac-sha256" }]);
    expect(config.zones[0]?.transfer).toEqual({
      to: [
        { address: "10.0.0.53", port: 53 },
        { address: "10.1.0.53", port: 5353 },
        { address: "2001:db8::53", port: 54, key: "corp" },
      ],
      allow: [{ from: { address: "10.0.0.0", bits: 8 } }, { from: { address: "2001:db8::", bits: 32 }, key: "corp" }],
      notify: { minIntervalMs: 1_000 },
      versions: 7,
    });
    expect(config.zones[0]?.soa).toMatchObject({
      refresh: TRANSFERRED_REFRESH_SECONDS,
      retry: TRANSFERRED_RETRY_SECONDS,
    });
  });

  test("two primaries share the serials", () => {
    const { config } = loadRight(zone('{ to: 10.0.0.53 }\nsoa: { serialModulo: "1/2" }'));
    expect(config.zones[0]?.soa.serialModulo).toEqual({ remainder: 1, modulus: 2 });
  });

  test("one secondary needs no list, and timers that are written stay", () => {
    const { config } = loadRight(zone("{ to: 10.0.0.53 }\nsoa: { refresh: 900, retry: 300 }"));
    expect(config.zones[0]?.transfer).toEqual({
      to: [{ address: "10.0.0.53", port: 53 }],
      allow: [],
      notify: { minIntervalMs: 200 },
      versions: 1_000,
    });
    expect(config.zones[0]?.soa).toMatchObject({ refresh: 900, retry: 300 });
  });

  const WRONG = [
    {
      name: "a key that is not there",
      files: zone("{ to: { address: 10.0.0.53, key: corp } }"),
      code: "CONFIG_TSIG_KEY",
    },
    {
      name: "a key in a list",
      files: { ...CORP, ...zone("{ allow: [{ from: 10.0.0.0/8, key: cop }] }") },
      code: "CONFIG_TSIG_KEY",
    },
    { name: "a name as a secondary", files: zone("{ to: ns.example.com }"), code: "CONFIG_SECONDARY" },
    { name: "port 0", files: zone('{ to: "10.0.0.53:0" }'), code: "CONFIG_SECONDARY" },
    { name: "a range that is none", files: zone("{ allow: 10.0.0.1/8 }"), code: "CONFIG_RANGE_OF_ADDRESSES" },
    { name: "a misspelt key", files: zone("{ too: 10.0.0.53 }"), code: "CONFIG_UNKNOWN_KEY" },
    {
      name: "a share of serials that is none",
      files: zone('{ to: 10.0.0.53 }\nsoa: { serialModulo: "2/2" }'),
      code: "CONFIG_SERIAL_MODULO",
    },
    {
      name: "a share of serials without a slash",
      files: zone("{ to: 10.0.0.53 }\nsoa: { serialModulo: 2 }"),
      code: "CONFIG_SERIAL_MODULO",
    },
    { name: "no states", files: zone("{ to: 10.0.0.53, versions: 0 }"), code: "CONFIG_RANGE" },
    {
      name: "an algorithm",
      files: { ...CORP, "livezone.yaml": KEYS.replace("secretFile", "algorithm: hmac-md5, secretFile") },
      code: "CONFIG_CHOICE",
    },
    { name: "no secret", files: { ...CORP, "corp.tsig": "\n" }, code: "CONFIG_TSIG_SECRET" },
    { name: "no file", files: { "livezone.yaml": KEYS }, code: "CONFIG_TSIG_SECRET" },
    {
      name: "a key with a name that is none",
      files: { ...CORP, "livezone.yaml": KEYS.replace("Corp", '"a..b"') },
      code: "CONFIG_NAME",
    },
  ] as const;
  test.each(WRONG)("$name is $code", ({ files, code }) => {
    const problems = loadWrong(files);
    expect(problems.filter(({ severity }) => severity !== "warning").map((problem) => problem.code)).toEqual([code]);
    expect(JSON.stringify(problems)).not.toContain(SECRET);
  });

  test("nobody named is worth a warning", () => {
    expect(loadRight(zone("{ versions: 5 }")).warnings.map(({ code }) => code)).toContain("CONFIG_TRANSFER_NOBODY");
  });

  test("the schema takes what is optional to be absent", () => {
    expect(mainTransfer.parse({})).toEqual({});
    expect(zoneTransfer.parse({})).toEqual({});
  });
});

describe("the file of a secret", () => {
  const octets = Uint8Array.from(Buffer.from(SECRET, "base64"));
  test.each([
    { name: "base64 alone", text: SECRET, reads: octets },
    { name: "with a comment", text: `# corp\n${SECRET}\n`, reads: octets },
    {
      name: "as tsig-keygen prints it",
      text: `key "corp" {\n\talgorithm hmac-sha256;\n\tsecret "${SECRET}";\n};\n`,
      reads: octets,
    },
    {
      name: "as keymgr prints it",
      text: `# hmac-sha256:corp:x\nkey:\n  - id: corp\n    algorithm: hmac-sha256\n    secret: ${SECRET}\n`,
      reads: octets,
    },
    { name: "empty", text: "\n", reads: "it holds no secret" },
    { name: "two lines", text: `${SECRET}\n${SECRET}\n`, reads: "it holds more than a secret" },
    { name: "not base64", text: "hello", reads: "its secret is not base64" },
    { name: "short", text: "c2hvcnQ=", reads: "its secret has 5 octets, fewer than 16" },
  ])("$name", ({ text, reads }) => {
    const read = readTsigSecret(join(folderWith({ secret: text }), "secret"));
    expect("why" in read ? read.why : read.secret).toEqual(reads);
  });
});
