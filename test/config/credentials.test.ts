import { createPrivateKey, createPublicKey } from "node:crypto";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import {
  checkCertificates,
  checkPrivateKey,
  checkProgram,
  checkSecrecy,
  checkToken,
} from "../../src/config/credentials.js";
import { loadConfig } from "../../src/config/load.js";
import { createAuthority } from "../../src/demo/certificates.js";
import { formatProblem } from "../../src/lib/errors.js";
import { temporaryFolder } from "../support/temp.js";
import { type Files, folderWith, loadRight, loadWrong, MAIN, zoneWith } from "./folder.js";
import { collecting, sourceIn } from "./source.js";

const { caPem, issue } = await createAuthority();
const client = await issue({ names: ["probe"], clientAuth: true });
const other = await issue({ names: ["other"], clientAuth: true });

/** What a check says of a file with this content, named `file` in `it: file`. */
function saidOf(content: string, check: (one: ReturnType<typeof named>) => unknown): string[] {
  const one = named(content);
  check(one);
  return one.problems.map((problem) => formatProblem(problem).replaceAll(one.file, "FILE"));
}

/** A file, the option that names it, and what is reported of it. */
function named(content: string) {
  const folder = temporaryFolder();
  const file = join(folder, "file");
  writeFileSync(file, content, { mode: 0o600 });
  const { problems, report } = collecting();
  return { file, path: ["it"], source: sourceIn(folder, "it: file\n"), problems, report };
}

const BROKEN = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

describe("a file of certificates", () => {
  const said = (content: string) =>
    saidOf(content, ({ source, path, file, report }) => checkCertificates(source, path, file, report));

  test("may hold several, and text around them; the first is the one that counts", () => {
    const { source, path, file, problems, report } = named(`# ours\n${client.certPem}and\r\n${caPem}`);
    expect(checkCertificates(source, path, file, report)?.subject).toContain("probe");
    expect(problems).toEqual([]);
  });

  test("needs one, and each must parse", () => {
    expect(said("sesame")).toEqual([
      'main.yaml:1:5: it is "FILE", which holds no PEM certificate.\nName a PEM file: "-----BEGIN CERTIFICATE-----" and what follows. [CONFIG_CERTIFICATE_INVALID]',
    ]);
    expect(said(caPem + BROKEN)).toEqual([
      expect.stringContaining('it is "FILE", whose certificate 2 of 2 cannot be parsed.'),
    ]);
  });

  test("is told when it cannot be read", () => {
    const { source, path, file, problems, report } = named("");
    expect(checkCertificates(source, path, `${file}/below`, report)).toBeUndefined();
    expect(problems).toMatchObject([
      {
        message: expect.stringContaining("which cannot be read: there is no such file."),
        code: "CONFIG_FILE_UNREADABLE",
      },
    ]);
  });
});

describe("a private key", () => {
  test("is compared with nothing when its certificate is no good", () => {
    const said = saidOf(client.keyPem, ({ source, path, file, report }) =>
      checkPrivateKey(source, path, file, undefined, report),
    );
    expect(said).toEqual([]);
  });
});

describe("a token", () => {
  const said = (content: string) =>
    saidOf(content, ({ source, path, file, report }) => checkToken(source, path, file, report));

  test.each(["abc", "abc\n", "  abc\r\n", "a.b-c_~+/="])("may be %j", (content) => {
    expect(said(content)).toEqual([]);
  });

  test.each([
    { content: "", why: "is empty" },
    { content: " \n", why: "is empty" },
    { content: "open sesame", why: "holds no token" },
    { content: "open\nsesame\n", why: "holds no token" },
    { content: "sésame", why: "holds no token" },
  ])("is none in $content", ({ content, why }) => {
    expect(said(content)).toEqual([
      `main.yaml:1:5: it is "FILE", which ${why}.\nPut the token into it, on one line without spaces. [CONFIG_TOKEN_INVALID]`,
    ]);
  });
});

describe("a secret that others may read", () => {
  test.each([
    { mode: 0o600, who: undefined },
    { mode: 0o611, who: undefined },
    { mode: 0o640, who: "its group may read (mode 0640)" },
    { mode: 0o604, who: "everybody on this machine may read (mode 0604)" },
  ])("is warned of by its mode: $mode", ({ mode, who }) => {
    const { source, path, file, problems, report } = named("sesame");
    chmodSync(file, mode);
    checkSecrecy(source, path, file, report, "may open the cave");
    expect(problems).toEqual(
      who === undefined
        ? []
        : [
            expect.objectContaining({
              message: `it is ${JSON.stringify(file)}, which ${who}: whoever has it may open the cave.`,
              severity: "warning",
            }),
          ],
    );
  });

  test("is left to others to tell when it is not there", () => {
    const { source, path, problems, report } = named("");
    checkSecrecy(source, path, "/nonexistent/secret", report, "may do anything");
    expect(problems).toEqual([]);
  });
});

describe("a program", () => {
  const said = (program: string) =>
    saidOf("", ({ source, path, report }) => checkProgram(source, path, program, report)).map(
      (problem) => /runs ".*", (.*)\.\n(.*) \[CONFIG_PROBE_COMMAND\]$/.exec(problem)?.slice(1) ?? problem,
    );

  test("is found by its absolute path", () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "sub"));
    writeFileSync(join(folder, "sub/check"), "#!/bin/sh\n", { mode: 0o755 });
    writeFileSync(join(folder, "notes"), "", { mode: 0o644 });
    const cannot = [["which is no program that this user can run", "Name an executable file."]];
    expect(said(join(folder, "sub/check"))).toEqual([]);
    expect(said(join(folder, "notes"))).toEqual(cannot);
    expect(said(join(folder, "sub"))).toEqual(cannot);
    expect(said(join(folder, "absent"))).toEqual(cannot);
    expect(said("./check")).toEqual([["which is a relative path", "Write the whole path of the program."]]);
  });

  test("is found by its name in PATH, of which an empty part counts for nothing", () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "check"), "#!/bin/sh\n", { mode: 0o755 });
    const absent = [["which is not in PATH", "Write the whole path of the program."]];
    vi.stubEnv("PATH", `/nonexistent:${folder}`);
    expect(said("check")).toEqual([]);
    expect(said("other")).toEqual(absent);
    vi.stubEnv("PATH", ":");
    expect(said("package.json")).toEqual(absent);
    vi.stubEnv("PATH", undefined);
    expect(said("check")).toEqual(absent);
  });
});

describe("a client certificate", () => {
  const files = (cert: string, key: string): Files => ({
    "zone.yaml": zoneWith("probe:\n  clientCertificate:\n    cert: a.crt\n    key: a.key"),
    "a.crt": cert,
    "a.key": key,
  });

  test("a certificate and its key are taken, as absolute files", () => {
    const { config } = loadRight(files(client.certPem + caPem, client.keyPem));
    expect(config.zones[0]?.endpoints[0]?.probe).toMatchObject({
      clientCertificate: { cert: expect.stringMatching(/^\/.*a\.crt$/), key: expect.stringMatching(/^\/.*a\.key$/) },
    });
  });

  test.each([
    {
      name: "another certificate's key",
      cert: client.certPem,
      key: other.keyPem,
      code: "CONFIG_KEY_MISMATCH",
      line: 9,
    },
    { name: "no key", cert: client.certPem, key: "nothing", code: "CONFIG_KEY_INVALID", line: 9 },
    { name: "a key alone", cert: client.keyPem, key: client.keyPem, code: "CONFIG_CERTIFICATE_INVALID", line: 8 },
    {
      name: "a public key",
      cert: client.certPem,
      key: createPublicKey(client.keyPem).export({ type: "spki", format: "pem" }).toString(),
      code: "CONFIG_KEY_INVALID",
      line: 9,
    },
  ])("$name is refused", ({ cert, key, code, line }) => {
    expect(loadWrong(files(cert, key))).toMatchObject([{ code, line }]);
  });

  test("an encrypted key is named as such", () => {
    const key = createPrivateKey(client.keyPem).export({
      type: "pkcs8",
      format: "pem",
      cipher: "aes-256-cbc",
      passphrase: "sesame",
    });
    expect(loadWrong(files(client.certPem, key.toString()))[0]?.message).toContain("which is encrypted");
  });
});

describe("the file of admin.tokenFile", () => {
  test.each([
    { mode: 0o600, warned: undefined },
    { mode: 0o400, warned: undefined },
    { mode: 0o640, warned: "its group may read (mode 0640)" },
    { mode: 0o644, warned: "everybody on this machine may read (mode 0644)" },
  ])("with mode $mode is warned of: $warned", ({ mode, warned }) => {
    const folder = folderWith({
      "livezone.yaml": `${MAIN}admin: { http: "127.0.0.1:9853", tokenFile: token }\n`,
      token: "abc",
    });
    chmodSync(join(folder, "token"), mode);
    const loaded = loadConfig(join(folder, "livezone.yaml"));
    const warnings = "config" in loaded ? loaded.warnings : [];
    expect("config" in loaded).toBe(true);
    expect(warnings.map(({ code, message }) => [code, message.includes(warned ?? "")])).toEqual(
      warned === undefined ? [] : [["CONFIG_TOKEN_FILE_MODE", true]],
    );
  });
});
