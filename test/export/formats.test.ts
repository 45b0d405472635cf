import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { EXPORT_FORMATS } from "../../src/export/formats.js";
import type { ExportedEndpoint } from "../../src/export/servers.js";
import { temporaryFolder } from "../support/temp.js";

const api = (...answered: string[]): ExportedEndpoint => ({
  name: "api.k8s.example.com",
  port: 6443,
  servers: ["192.0.2.11", "192.0.2.12", "2001:db8::13"].map((address, index) => ({
    name: `cp${index + 1}`,
    address,
    isAnswered: answered.includes(address),
  })),
});

const written = (format: string, endpoint: ExportedEndpoint, vip?: string) =>
  EXPORT_FORMATS[format]!.write([endpoint], vip === undefined ? {} : { vip });

describe("haproxy", () => {
  test("has a server for each address that is answered", () => {
    expect(
      written("haproxy", api("192.0.2.11", "2001:db8::13")),
    ).toBe(`# Written by "livezone export": a change here is lost.
backend api_k8s_example_com
  mode tcp
  balance roundrobin
  server cp1 192.0.2.11:6443 check
  server cp3 [2001:db8::13]:6443 check
`);
  });
});

describe("nginx", () => {
  test("has a server for each address that is answered", () => {
    expect(written("nginx", api("192.0.2.12"))).toContain(
      "upstream api_k8s_example_com {\n  server 192.0.2.12:6443;\n}\n",
    );
  });

  test("stays one that nginx loads when nothing is answered", () => {
    expect(written("nginx", api())).toContain("upstream api_k8s_example_com {\n  server 127.0.0.1:6443 down;\n}\n");
  });
});

describe("hosts", () => {
  test("has a line for each address that is answered", () => {
    expect(written("hosts", api("192.0.2.12", "192.0.2.11"))).toBe(
      "192.0.2.11\tapi.k8s.example.com\n192.0.2.12\tapi.k8s.example.com\n",
    );
  });
});

describe("ipvs", () => {
  /** Runs the script with an `ipvsadm` that keeps its rules in a file, as the kernel does. */
  function runScript(script: string, table: string): string[] {
    const folder = temporaryFolder();
    const rules = join(folder, "rules");
    writeFileSync(rules, table);
    const stub = join(folder, "ipvsadm");
    writeFileSync(
      stub,
      `#!/bin/sh
case $1 in
  -Sn) cat ${rules}; exit ;;
  -A) key="-A $2 $3" ;;
  -E) key="-A $2 $3" ;;
  *) key="-a $2 $3 $4 $5" ;;
esac
there=0; grep -q -F -- "$key " ${rules} && there=1
case $1 in
  -A | -a) [ $there = 0 ] || exit 1; echo "$*" >>${rules} ;;
  *) [ $there = 1 ] || exit 1; grep -v -F -- "$key " ${rules} >${rules}.new; mv ${rules}.new ${rules} ;;
esac
case $1 in -e) shift; echo "-a $*" >>${rules} ;; -E) shift; echo "-A $*" >>${rules} ;; esac
`,
    );
    chmodSync(stub, 0o755);
    const env = { PATH: `${folder}:${process.env.PATH}` };
    const { status, stderr } = spawnSync("sh", ["-c", script], { env, encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    return readFileSync(rules, "utf8").trim().split("\n").sort();
  }

  const SERVICE = "-t 192.0.2.100:6443";

  test.each([
    { from: "nothing", table: "" },
    { from: "what it set before", table: `-A ${SERVICE} -s rr\n-a ${SERVICE} -r 192.0.2.11:6443 -m -w 0\n` },
    { from: "a server that is no more", table: `-A ${SERVICE} -s rr\n-a ${SERVICE} -r 192.0.2.99:6443 -m -w 1\n` },
  ])("comes to the same from $from: what is not answered keeps its connections with weight 0", ({ table }) => {
    const script = written("ipvs", api("192.0.2.11", "2001:db8::13"), "192.0.2.100");
    expect(runScript(script, table)).toEqual([
      `-A ${SERVICE} -s rr`,
      `-a ${SERVICE} -r 192.0.2.11:6443 -m -w 1`,
      `-a ${SERVICE} -r 192.0.2.12:6443 -m -w 0`,
    ]);
  });

  test("needs the virtual address, and is for one endpoint", () => {
    expect(() => written("ipvs", api("192.0.2.11"))).toThrow("--vip");
    expect(() => EXPORT_FORMATS.ipvs!.write([api(), api()], { vip: "192.0.2.100" })).toThrow("one endpoint");
  });
});
