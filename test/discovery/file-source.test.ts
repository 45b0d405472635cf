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
  ] as const;
  test.each(rows)("$name", ({ text, ids }) => {
    const read = readCandidates(text, "t.json");
    expect("candidates" in read && read.candidates.map(({ id }) => id)).toEqual(ids);
  });

  const bad = [
    { name: "half a JSON file", text: '{"cp1": "192.0.2.1", "cp2": ["192.' },
    { name: "nothing", text: " \n" },
    { name: "a list", text: "[1, 2]" },
    { name: "a number for an address", text: "cp1: 7" },
    { name: "an id twice", text: "cp1: 192.0.2.1\ncp1: 192.0.2.2" },
    { name: "many aliases", text: `a: &a [x]\n${Array.from({ length: 200 }, (_, i) => `b${i}: *a`).join("\n")}` },
    { name: "an unknown option", text: "cp1: { addresses: 192.0.2.1, weight: 3 }" },
  ] as const;
  test.each(bad)("$name is a problem", ({ text }) => expect(readCandidates(text, "t.json")).toHaveProperty("problem"));
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
