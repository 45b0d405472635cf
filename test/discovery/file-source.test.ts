import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FileSource, readCandidates } from "../../src/discovery/file-source.js";
import { systemClock } from "../../src/lib/clock.js";
import { afterThisTest } from "../support/cleanup.js";
import { temporaryFolder } from "../support/temp.js";
import { waitUntil } from "../support/wait.js";

const position = { file: "zone.yaml", line: 1, column: 1 };

describe("what a file says", () => {
  const rows = [
    { name: "JSON", text: '{"cp1": "192.0.2.1", "cp2": ["192.0.2.2", "2001:db8::2"]}', ids: ["cp1", "cp2"] },
    { name: "YAML", text: "cp1: 192.0.2.1\ncp2: [192.0.2.2]\n", ids: ["cp1", "cp2"] },
    { name: "below targets", text: "targets:\n  cp1: { addresses: 192.0.2.1, port: 6443 }\n", ids: ["cp1"] },
    { name: "one that is called targets", text: "targets: 192.0.2.1", ids: ["targets"] },
    { name: "none", text: "{}", ids: [] },
    {
      name: "ids that JavaScript knows",
      text: '{"__proto__": "192.0.2.1", "constructor": "192.0.2.2"}',
      ids: ["__proto__", "constructor"],
    },
    { name: "JSON with what looks like a key", text: '{"a": ["\\": \\"b\\": ", "::1"], "c": "d:"}', ids: ["a", "c"] },
    { name: "an alias", text: "cp1: &a [192.0.2.1]\ncp2: *a", ids: ["cp1", "cp2"] },
  ] as const;
  test.each(rows)("$name", ({ text, ids }) => {
    const read = readCandidates(text, "t.json");
    expect("candidates" in read && read.candidates.map(({ id }) => id)).toEqual(ids);
  });

  const bad = [
    { name: "half a JSON file", text: '{"cp1": "192.0.2.1", "cp2": ["192.', says: "t.json: " },
    { name: "nothing", text: " \n", says: "t.json: it is empty" },
    { name: "a list", text: "[1, 2]", says: "no mapping of ids to addresses" },
    { name: "a number for an address", text: "cp1: 7", says: '"cp1" has no address' },
    { name: "no address", text: "cp1: { port: 6443 }", says: '"cp1" has no address' },
    { name: "an empty list of addresses", text: "cp1: []", says: 'the list of addresses of "cp1" is empty' },
    { name: "an empty list below addresses", text: "cp1: { addresses: [] }", says: 'addresses of "cp1" is empty' },
    { name: "something else in a list", text: "cp1: [192.0.2.1, null]", says: '"cp1" has "null" in its list' },
    { name: "an id twice", text: "cp1: 192.0.2.1\ncp1: 192.0.2.2", says: '"cp1" is there twice' },
    { name: "an id twice below targets", text: "targets: { a: 192.0.2.1, a: 192.0.2.2 }", says: '"a" is there twice' },
    { name: "no id", text: '"": 192.0.2.1', says: '"" is no id' },
    { name: "no port", text: "cp1: { addresses: 192.0.2.1, port: 70000 }", says: 'the port of "cp1" is "70000"' },
    {
      name: "many aliases",
      text: `a: &a [x]\n${Array.from({ length: 200 }, (_, i) => `b${i}: *a`).join("\n")}`,
      says: "alias",
    },
    { name: "an unknown option", text: "cp1: { addresses: 192.0.2.1, weight: 3 }", says: '"cp1" has "weight"' },
    { name: "brackets without end", text: "[".repeat(20_000), says: "t.json: " },
    {
      name: "a JSON id twice",
      text: '{"a": "192.0.2.1", "b": "x:\\":", "a": "192.0.2.2"}',
      says: '"a" is there twice',
    },
    { name: "a large file that is no JSON", text: `${"#".repeat(130 * 1024)}`, says: "too large for YAML" },
  ] as const;
  test.each(bad)("$name is a problem", ({ text, says }) => {
    expect(readCandidates(text, "t.json")).toEqual({ problem: expect.stringContaining(says) });
  });
});

function watch(path: string) {
  const source = new FileSource({ type: "file", name: "file:t", position, path }, systemClock);
  const heard: string[] = [];
  source.start({
    proposed: (candidates) => heard.push(candidates.map(({ id }) => id).join(" ")),
    confirmed: () => {},
    failed: ({ problem }) => heard.push(`! ${problem}`),
    credentialRead: () => {},
  });
  afterThisTest(() => source.stop());
  return heard;
}

describe("a file that is watched", () => {
  test("is read when it appears, is replaced, is broken, and is whole again", async () => {
    const path = join(temporaryFolder(), "t.json");
    const heard = watch(path);
    await waitUntil(() => heard.length === 1);
    writeFileSync(path, '{"cp1": "192.0.2.1"}');
    await waitUntil(() => heard.length === 2);
    writeFileSync(`${path}.new`, '{"cp1": "192.0.2.1", "cp2": "192.0.2.2"}');
    renameSync(`${path}.new`, path);
    await waitUntil(() => heard.length === 3);
    writeFileSync(path, '{"cp1": "192.0');
    await waitUntil(() => heard.length === 4);
    writeFileSync(path, '{"cp3": "192.0.2.3"}');
    await waitUntil(() => heard.length === 5);
    expect(heard).toEqual([
      expect.stringMatching(/^! there is no file/),
      "cp1",
      "cp1 cp2",
      expect.stringMatching(/^! /),
      "cp3",
    ]);
  });

  test("follows the links that Kubernetes swaps in a ConfigMap volume", async () => {
    const folder = temporaryFolder();
    for (const [version, id] of [
      ["v1", "cp1"],
      ["v2", "cp2"],
    ] as const) {
      mkdirSync(join(folder, version));
      writeFileSync(join(folder, version, "t.yaml"), `${id}: 192.0.2.1\n`);
    }
    symlinkSync("v1", join(folder, "..data"));
    symlinkSync("..data/t.yaml", join(folder, "t.yaml"));
    const heard = watch(join(folder, "t.yaml"));
    await waitUntil(() => heard.length === 1);
    symlinkSync("v2", join(folder, "..data_tmp"));
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"));
    await waitUntil(() => heard.length === 2);
    expect(heard).toEqual(["cp1", "cp2"]);
  });
});
