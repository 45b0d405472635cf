import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { HttpsProbeConfig } from "../../../src/config/config.js";
import { createAuthority, type IssuedCertificate } from "../../../src/demo/certificates.js";
import {
  createProbeFiles,
  type FileReader,
  type ProbeFileTrouble,
  systemFiles,
} from "../../../src/health/probes/files.js";
import { createFakeClock } from "../../support/fake-clock.js";
import { temporaryFolder } from "../../support/temp.js";

let caPem: string;
let one: IssuedCertificate;
let two: IssuedCertificate;

beforeAll(async () => {
  const authority = await createAuthority();
  caPem = authority.caPem;
  one = await authority.issue({ names: ["one"], clientAuth: true });
  two = await authority.issue({ names: ["two"], clientAuth: true });
});

/** Files in memory that count how often they are looked at and read. */
function harness(files: Record<string, string>) {
  const counts = { looks: 0, reads: 0 };
  const find = (path: string): string => {
    const text = files[path];
    if (text === undefined) throw new Error("ENOENT: no such file");
    return text;
  };
  const reader: FileReader = {
    async version(path) {
      counts.looks += 1;
      return `version of ${find(path)}`;
    },
    async read(path) {
      counts.reads += 1;
      return find(path);
    },
  };
  const clock = createFakeClock();
  const troubles: ProbeFileTrouble[] = [];
  const probeFiles = createProbeFiles(clock, reader, (trouble) => troubles.push(trouble));
  return { clock, counts, files, troubles, probeFiles };
}

const https = (more: Partial<HttpsProbeConfig>): HttpsProbeConfig => ({
  type: "https",
  path: "/readyz",
  expectStatus: [200],
  serverName: "x",
  port: 6443,
  insecureSkipVerify: false,
  ...more,
});

describe("a token", () => {
  test.each(["", "\u0000\u0001", "two words"])("that becomes %j is that of before, and that is told", async (text) => {
    const { probeFiles, files, clock, troubles } = harness({ t: "s3cret" });
    expect(await probeFiles.token("t")).toBe("s3cret");
    files.t = text;
    await clock.advance(1000);
    expect(await probeFiles.token("t")).toBe("s3cret");
    expect(troubles).toEqual([{ files: "t", problem: "it holds no token of printable characters" }]);
  });

  test("is absent without a file, and trimmed", async () => {
    const { probeFiles } = harness({ t: " s3cret\n" });
    expect(await probeFiles.token(undefined)).toBeUndefined();
    expect(await probeFiles.token("t")).toBe("s3cret");
  });

  test("is looked at once a second however many ask, and read only when it changed", async () => {
    const { probeFiles, clock, counts, files } = harness({ t: "old" });
    await Promise.all(Array.from({ length: 100 }, () => probeFiles.token("t")));
    expect(counts).toEqual({ looks: 1, reads: 1 });
    files.t = "new";
    await clock.advance(999);
    expect(await probeFiles.token("t")).toBe("old");
    await clock.advance(1);
    expect(await probeFiles.token("t")).toBe("new");
    await clock.advance(1000);
    expect(await probeFiles.token("t")).toBe("new");
    expect(counts).toEqual({ looks: 3, reads: 2 });
  });

  test("that cannot be read any more is the last one that could", async () => {
    const { probeFiles, clock, files } = harness({ t: "old" });
    await probeFiles.token("t");
    delete files.t;
    await clock.advance(1000);
    expect(await probeFiles.token("t")).toBe("old");
  });

  test("that never could be read is an error, and is tried again at once", async () => {
    const { probeFiles, files } = harness({});
    await expect(probeFiles.token("t")).rejects.toThrow("cannot read t: ENOENT");
    files.t = "there";
    expect(await probeFiles.token("t")).toBe("there");
  });
});

describe("a TLS context", () => {
  const paths = { ca: "ca", clientCertificate: { cert: "crt", key: "key" } };

  test("is made once, and again when a file changed", async () => {
    const { probeFiles, clock, files } = harness({ ca: caPem, crt: one.certPem, key: one.keyPem });
    const first = await probeFiles.secureContext(https(paths));
    await clock.advance(1000);
    expect(await probeFiles.secureContext(https(paths))).toBe(first);
    Object.assign(files, { crt: two.certPem, key: two.keyPem });
    await clock.advance(1000);
    expect(await probeFiles.secureContext(https(paths))).not.toBe(first);
  });

  test("stays while a certificate and its key are replaced one after the other", async () => {
    const { probeFiles, clock, files } = harness({ ca: caPem, crt: one.certPem, key: one.keyPem });
    const first = await probeFiles.secureContext(https(paths));
    files.crt = two.certPem;
    await clock.advance(1000);
    expect(await probeFiles.secureContext(https(paths))).toBe(first);
    files.key = two.keyPem;
    await clock.advance(1000);
    expect(await probeFiles.secureContext(https(paths))).not.toBe(first);
  });

  test("is an error when the first files make no sense, and names them", async () => {
    const { probeFiles } = harness({ ca: caPem, crt: one.certPem, key: two.keyPem });
    await expect(probeFiles.secureContext(https(paths))).rejects.toThrow(/^cannot use ca, crt, key: /);
  });

  test.each([
    ["empty", () => ""],
    ["no certificate", () => "not a certificate"],
    ["cut off", () => caPem.slice(0, 300)],
    ["cut off after a whole one", () => caPem + caPem.slice(0, 300)],
  ])("is not made from a file of authorities that is %s", async (_name, text) => {
    const { probeFiles, files, clock } = harness({ ca: text() });
    await expect(probeFiles.secureContext(https({ ca: "ca" }))).rejects.toThrow(/^cannot use ca: /);
    files.ca = caPem + caPem;
    await clock.advance(1000);
    const good = await probeFiles.secureContext(https({ ca: "ca" }));
    files.ca = text();
    await clock.advance(1000);
    expect(await probeFiles.secureContext(https({ ca: "ca" }))).toBe(good);
  });

  test("is made from what was there before when the client's key becomes empty, and that is told once", async () => {
    const { probeFiles, files, clock, troubles } = harness({ ca: caPem, crt: one.certPem, key: one.keyPem });
    const good = await probeFiles.secureContext(https(paths));
    files.key = "";
    for (let probe = 0; probe < 3; probe += 1) {
      await clock.advance(1000);
      expect(await probeFiles.secureContext(https(paths))).toBe(good);
    }
    expect(troubles).toEqual([{ files: "ca, crt, key", problem: "the client's certificate or its key is empty" }]);
  });

  test("needs no file", async () => {
    const { probeFiles, counts } = harness({});
    expect(await probeFiles.secureContext(https({}))).toBe(await probeFiles.secureContext(https({})));
    expect(counts.looks).toBe(0);
  });
});

test("a file of the machine that is replaced has another version, even of the same length", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "token");
  writeFileSync(path, "one");
  const before = await systemFiles.version(path);
  expect(await systemFiles.version(path)).toBe(before);
  writeFileSync(join(folder, "next"), "two");
  renameSync(join(folder, "next"), path);
  expect(await systemFiles.version(path)).not.toBe(before);
  expect(await systemFiles.read(path)).toBe("two");
});
