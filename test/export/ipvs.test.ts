import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { EXPORT_FORMATS } from "../../src/export/formats.js";
import { findProgram } from "../support/programs.js";
import { temporaryFolder } from "../support/temp.js";

/** Why the kernel's table cannot be set here; undefined if it can. */
function obstacle(): string | undefined {
  if (findProgram("ipvsadm") === undefined) return "ipvsadm not installed";
  const { status, stderr } = spawnSync("unshare", ["--net", "ipvsadm", "-Ln"], { encoding: "utf8" });
  return status === 0 ? undefined : (stderr.split("\n")[0] ?? "no namespace can be made");
}

const why = obstacle();
const SERVICE = "192.0.2.100:6443";

/** The script for three targets, of which some are answered. */
const scriptFor = (...answered: readonly string[]) =>
  EXPORT_FORMATS.ipvs!.write(
    [
      {
        name: "api.k8s.example.com",
        port: 6443,
        servers: ["192.0.2.11", "192.0.2.12", "192.0.2.13"].map((address, index) => ({
          ...{ name: `cp${index + 1}`, address, isAnswered: answered.includes(address) },
        })),
      },
    ],
    { vip: "192.0.2.100" },
  );

test.skipIf(why !== undefined)(
  `the kernel's table follows the exported script: a withdrawal, a return${why === undefined ? "" : ` (skipped: ${why})`}`,
  () => {
    const folder = temporaryFolder();
    const all = ["192.0.2.11", "192.0.2.12", "192.0.2.13"];
    writeFileSync(join(folder, "all.sh"), scriptFor(...all));
    writeFileSync(join(folder, "fewer.sh"), scriptFor(...all.slice(1)));
    const steps = ["all", "fewer", "fewer", "all"].map((name) => `sh ${folder}/${name}.sh && ipvsadm -Sn && echo`);
    const { stdout, stderr } = spawnSync("unshare", ["--net", "sh", "-c", steps.join(" && ")], { encoding: "utf8" });
    expect(stderr).toBe("");
    const table = (firstWeight: number) => [
      `-A -t ${SERVICE} -s rr`,
      ...all.map((address, index) => `-a -t ${SERVICE} -r ${address}:6443 -m -w ${index === 0 ? firstWeight : 1}`),
    ];
    const seen = stdout
      .trim()
      .split("\n\n")
      .map((part) => part.trim().split("\n"));
    expect(seen).toEqual([table(1), table(0), table(0), table(1)]);
  },
);
