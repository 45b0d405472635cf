import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { goDurationMs, readManifest } from "../../src/doctor/collect-files.js";
import { temporaryFolder } from "../support/temp.js";

function fileWith(text: string): string {
  const file = join(temporaryFolder(), "file");
  writeFileSync(file, text);
  return file;
}

const pod = (command: string) => `spec:\n  containers:\n    - { command: [${command}] }\n`;

describe("readManifest", () => {
  test("knows the defaults of flags that are absent", () => {
    expect(readManifest(fileWith(pod("kube-apiserver")))).toMatchObject({
      shutdownDelayMs: 0,
      anonymousAuth: true,
      graceSeconds: 30,
    });
  });

  test("reads flags in both forms, of which the last one counts", () => {
    const command =
      "/usr/bin/kube-apiserver, --shutdown-delay-duration=5s, --advertise-address, 192.0.2.1, --shutdown-delay-duration=1m10s, --anonymous-auth=false";
    expect(readManifest(fileWith(pod(command)))).toMatchObject({
      shutdownDelayMs: 70_000,
      shutdownDelay: "1m10s",
      advertiseAddress: "192.0.2.1",
      anonymousAuth: false,
    });
  });

  test.each([
    { name: "another Pod", text: pod("etcd"), says: "runs no kube-apiserver" },
    {
      name: "a duration that is none",
      text: pod("kube-apiserver, --shutdown-delay-duration=20"),
      says: "is no duration",
    },
    { name: "something else", text: "a: b\n", says: "is not a Pod manifest" },
    { name: "no YAML", text: "a: [\n", says: "cannot be read" },
    { name: "a file of a megabyte and more", text: "#".repeat((1 << 20) + 1), says: "larger than 1 MiB" },
  ])("refuses $name", ({ text, says }) => {
    expect(readManifest(fileWith(text))).toMatchObject({ problem: expect.stringContaining(says) });
  });
});

test.each([
  ["20s", 20_000],
  ["1m10s", 70_000],
  ["1.5h", 5_400_000],
  ["250ms", 250],
  ["0", 0],
  ["20", undefined],
  ["s", undefined],
  ["20s ", undefined],
])("goDurationMs(%j) is %j", (text, ms) => {
  expect(goDurationMs(text)).toBe(ms);
});
