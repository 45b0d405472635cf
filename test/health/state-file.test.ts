import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { openStateFile, type StateAlarm } from "../../src/health/state-file.js";
import { createFakeClock } from "../support/fake-clock.js";
import { temporaryFolder } from "../support/temp.js";

function harness(folder: string, version = 2, maxOctets = 1_000_000) {
  const alarms: StateAlarm[] = [];
  const clock = createFakeClock(Date.UTC(2026, 1, 3, 4, 5, 6, 789));
  const file = openStateFile({
    folder,
    name: "things.json",
    version,
    content: z.array(z.string()),
    clock,
    maxOctets,
    onAlarm: (alarm) => alarms.push(alarm),
  });
  return { file, alarms };
}

describe("a state file", () => {
  test("gives back what was written, in a folder that only its owner can read", async () => {
    const folder = path.join(temporaryFolder(), "state");
    const { file, alarms } = harness(folder);
    expect(await file.read()).toBeUndefined();
    await file.write(["a", "b"]);
    expect(await harness(folder).file.read()).toEqual(["a", "b"]);
    expect(readdirSync(folder)).toEqual(["things.json"]);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(path.join(folder, "things.json")).mode & 0o777).toBe(0o600);
    expect(alarms).toEqual([]);
  });

  test("is not confused by what a dead process left half-written", async () => {
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, "things.json.tmp"), `${"x".repeat(10_000)}`);
    const { file, alarms } = harness(folder);
    expect(await file.read()).toBeUndefined();
    await file.write(["a"]);
    expect(await file.read()).toEqual(["a"]);
    expect(alarms).toEqual([]);
  });

  test("writes the newest of what waits, and every writer waits for its own", async () => {
    const folder = temporaryFolder();
    const { file } = harness(folder);
    const steps: string[] = [];
    await Promise.all(
      ["a", "b", "c", "d"].map(async (word) => {
        await file.write([word]);
        steps.push(`${word} ${JSON.parse(readFileSync(path.join(folder, "things.json"), "utf8")).content}`);
      }),
    );
    expect(steps).toEqual(["a d", "b d", "c d", "d d"]);
    expect(await file.read()).toEqual(["d"]);
  });

  test.each([
    { name: "empty", text: "", problem: "it is empty" },
    { name: "cut off", text: '{"version": 2, "content": ["a"', problem: "it is not JSON" },
    { name: "binary", text: "\u0000\u0001\ufffd", problem: "it is not JSON" },
    { name: "a list", text: "[]", problem: "it names no version" },
    { name: "without a version", text: '{"content": []}', problem: "it names no version" },
    {
      name: "of a newer version",
      text: '{"version": 3, "content": []}',
      problem: "a newer livezone wrote it: its version is 3, known are those up to 2",
    },
    {
      name: "of a version that never was",
      text: '{"version": 1, "content": []}',
      problem: /^its version is -?\d+, which is not known/,
    },
    {
      name: "of other content",
      text: '{"version": 2, "content": ["a", 7]}',
      problem: /^it makes no sense at content\.1: /,
    },
    { name: "with more in it", text: '{"version": 2, "content": [], "more": 1}', problem: /^it makes no sense/ },
  ])("is set aside with an alarm when it is $name", async ({ text, problem }) => {
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, "things.json"), text);
    const { file, alarms } = harness(folder);
    expect(await file.read()).toBeUndefined();
    const aside = path.join(folder, "things.json.broken-2026-02-03T040506789Z");
    expect(alarms).toEqual([
      {
        file: path.join(folder, "things.json"),
        problem: typeof problem === "string" ? problem : expect.stringMatching(problem),
        setAside: aside,
      },
    ]);
    expect(readFileSync(aside, "utf8")).toBe(text);
    await file.write(["a"]);
    expect(await harness(folder).file.read()).toEqual(["a"]);
  });

  test("is set aside when it is larger than any state file", async () => {
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, "things.json"), JSON.stringify({ version: 2, content: ["x".repeat(1000)] }));
    const { file, alarms } = harness(folder, 2, 1000);
    expect(await file.read()).toBeUndefined();
    expect(alarms).toMatchObject([{ problem: expect.stringContaining("more than any state file") }]);
  });

  test("is set aside when it cannot be read at all", async () => {
    const folder = temporaryFolder();
    mkdirSync(path.join(folder, "things.json"));
    const { file, alarms } = harness(folder);
    expect(await file.read()).toBeUndefined();
    expect(alarms).toMatchObject([{ problem: expect.stringContaining("EISDIR"), setAside: expect.anything() }]);
  });

  test("is set aside when it is a pipe, which would be waited for", async () => {
    const folder = temporaryFolder();
    execFileSync("mkfifo", [path.join(folder, "things.json")]);
    const { file, alarms } = harness(folder);
    expect(await file.read()).toBeUndefined();
    expect(alarms).toMatchObject([{ problem: "it is not a regular file", setAside: expect.anything() }]);
  });

  test("raises the alarm even if it cannot be moved", async () => {
    const folder = temporaryFolder();
    symlinkSync("things.json", path.join(folder, "things.json"));
    const { file, alarms } = harness(path.join(folder, "things.json"));
    expect(await file.read()).toBeUndefined();
    expect(alarms).toHaveLength(1);
    expect(alarms[0]?.setAside).toBeUndefined();
  });

  test("says what is wrong when it cannot be written, and can be again later", async () => {
    const folder = path.join(temporaryFolder(), "state");
    writeFileSync(folder, "a file where the folder should be");
    const { file } = harness(folder);
    await expect(file.write(["a"])).rejects.toMatchObject({
      name: "UserError",
      code: "NOT_PERSISTED",
      message: expect.stringContaining(`cannot write ${path.join(folder, "things.json")}: `),
    });
    await expect(file.write(["a"])).rejects.toThrow("cannot write");
  });
});
