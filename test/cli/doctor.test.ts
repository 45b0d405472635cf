import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { lookUpWithSystem } from "../../src/cli/doctor.js";
import { doctorReportSchema } from "../../src/doctor/report.js";
import { startBindAuthoritative } from "../support/bind.js";
import { afterAllTests } from "../support/cleanup.js";
import { startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { describeWith } from "../support/programs.js";
import { temporaryFolder } from "../support/temp.js";
import { startUnbound } from "../support/unbound.js";
import { runLivezone } from "./run.js";

/** Whether a network of its own can be made here. */
const hasNamespaces = spawnSync("unshare", ["-n", "ip", "link"]).status === 0;

test("lookUpWithSystem knows what the machine knows, and says why not", async () => {
  expect(await lookUpWithSystem("localhost")).toMatchObject({ addresses: expect.arrayContaining(["127.0.0.1"]) });
  expect(await lookUpWithSystem("nobody.invalid")).toMatchObject({
    problem: expect.stringContaining("nobody.invalid"),
  });
});

describeWith(["named", "unbound"], "livezone doctor", () => {
  const cleanup = afterAllTests();
  const net = `127.${randomInt(1, 250)}.${randomInt(0, 256)}`;
  const [ns1, ns2] = [`${net}.1`, `${net}.2`];
  const zone = `zone: k8s.example.com
allowSpecialAddresses: true
nameservers: { ns1: ${ns1}, ns2: ${ns2} }
endpoints:
  api: { ttl: 1, targets: { cp1: 192.0.2.11, cp2: 192.0.2.12 }, probe: { type: none } }
  slow: { ttl: 600, targets: { cp1: 192.0.2.11 }, probe: { type: none } }
`;
  /** Where the servers are, as options. */
  let places: string[];
  let folder: string;

  beforeAll(async () => {
    const port = await freePort(ns1, ns2);
    const files = (address: string) => ({
      "livezone.yaml": `listen: ["${address}:${port}"]\nadmin: { socket: admin.sock }\nzones: [zones/*.yaml]\n`,
      "zones/k8s.yaml": zone,
    });
    const glue = `k8s NS ns1.k8s\nk8s NS ns2.k8s\nns1.k8s A ${ns1}\nns2.k8s A ${ns2}\n`;
    const parentZone = `$TTL 300\n@ SOA ns hostmaster 1 7200 900 1209600 300\n@ NS ns\nns A 127.0.0.1\n${glue}`;
    const [parent, unbound] = await Promise.all([
      startBindAuthoritative({ zones: { "example.com": parentZone }, cleanup }),
      startUnbound({ stubZones: [{ name: "k8s.example.com", servers: [{ address: ns1, port }] }], cleanup }),
      startLivezone({ files: files(ns1), cleanup }),
      startLivezone({ files: files(ns2), cleanup }),
    ]);
    folder = temporaryFolder(cleanup);
    mkdirSync(join(folder, "zones"));
    for (const [path, text] of Object.entries(files(ns1))) writeFileSync(join(folder, path), text);
    writeFileSync(join(folder, "resolv.conf"), `nameserver ${ns2}\n`);
    writeFileSync(join(folder, "kubelet.conf"), "clusters:\n  - cluster: { server: https://192.0.2.12:6443 }\n");
    const at = ({ address, port: on }: { address: string; port: number }) => `${address}:${on}`;
    places = ["--resolver", at(unbound), "--parent", at(parent), "--port", String(port)];
  });

  const doctor = (...args: readonly string[]) => runLivezone(["doctor", ...args], { cwd: folder });

  test("has nothing to say of a right set-up but what clients do", async () => {
    const { code, stdout, stderr } = await doctor(...places, "--resolv-conf", "none");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^clients on this machine, api\.k8s\.example\.com\n {2}Go dials 192\.0\.2\.1[12], /);
    expect(stdout.trimEnd().split("\n").at(-1)).toBe(
      "healthy: looked at 2 nameserver addresses, 1 resolver, 3 target addresses; nothing found",
    );
    expect(stdout).not.toContain("\u001b");
  });

  test("ends with 1 when something will break, and tells programs the same as people", async () => {
    const wrong = [...places, "--resolv-conf", "resolv.conf", "--kubeconfig", "kubelet.conf", "slow.k8s.example.com"];
    const [people, programs] = await Promise.all([doctor(...wrong), doctor(...wrong, "--json")]);
    expect(people.code).toBe(1);
    expect(people.stdout).toMatch(/^error livezone-as-resolver: resolver .* \(resolv\.conf\)\n {2}\S/m);
    expect(people.stdout).toMatch(/^error raw-address: kubelet\.conf\n/m);
    expect(people.stdout).toMatch(/\nbroken: .* 2 errors\n$/);
    expect(programs).toMatchObject({ code: 1, stderr: "" });
    const report = doctorReportSchema.parse(JSON.parse(programs.stdout));
    expect(report.healthy).toBe(false);
    expect(report.findings.map(({ id }) => id).sort()).toEqual(["livezone-as-resolver", "raw-address"]);
    expect(report.clients.map(({ endpoint }) => endpoint)).toEqual(["slow.k8s.example.com"]);
  });

  test("calls a resolver that was named, and where nothing listens, no livezone", async () => {
    const free = `${ns2}:${await freePort(ns2)}`;
    const { code, stdout } = await doctor(...places.slice(2), "--resolver", free, "--resolv-conf", "none");
    expect({ code, stdout }).toMatchObject({ code: 1, stdout: expect.stringContaining("error resolver-unreachable") });
    expect(stdout).not.toContain("livezone-as-resolver");
  });

  test("names the line of the hosts file that fixes the endpoint, and dials what it says", async () => {
    writeFileSync(join(folder, "hosts"), "127.0.0.1 localhost\n192.0.2.11 api.k8s.example.com\n");
    const { code, stdout } = await doctor(...places, "--resolv-conf", "none", "--hosts-file", "hosts");
    expect(code).toBe(1);
    expect(stdout).toMatch(/^error hosts-file-pins: hosts\n {2}line 2 is "192\.0\.2\.11 api\.k8s\.example\.com"/m);
    expect(stdout).toMatch(/^clients on this machine, api\.k8s\.example\.com\n {2}Go dials 192\.0\.2\.11 \(/m);
  });

  test("asks this machine if resolv.conf names no resolver", async () => {
    writeFileSync(join(folder, "empty.conf"), "search example.com\n");
    const { stdout } = await doctor(...places.slice(2), "--resolv-conf", "empty.conf");
    expect(stdout).toMatch(/^warning resolv-conf-empty: empty\.conf$/m);
    expect(stdout).toMatch(/1 resolver,/);
  });

  test.skipIf(!hasNamespaces)("asks a link-local resolver through its interface", async () => {
    writeFileSync(join(folder, "scoped.conf"), "nameserver fe80::1%v0\n");
    const network =
      "ip link set lo up; ip link add v0 type veth peer name v1; ip addr add fe80::1/64 dev v0 nodad; ip link set v0 up; ip link set v1 up";
    const through = ["unshare", "-n", "sh", "-c", `${network}; exec "$@"`, "sh"];
    const args = ["doctor", "--resolv-conf", "scoped.conf", "api.k8s.example.com"];
    const { stdout } = await runLivezone(args, { cwd: folder, through });
    expect(stdout).toContain("error resolver-unreachable: resolver [fe80::1%v0]:53 (scoped.conf)");
    expect(stdout).toContain("nothing listens there");
  });

  test.each([
    {
      name: "a name that the configuration lacks",
      args: ["web.example.com"],
      code: 1,
      says: "it has api.k8s.example.com, slow",
    },
    {
      name: "a resolver that is no address",
      args: ["--resolver", "dns.example.com"],
      code: 2,
      says: '"192.0.2.1:5353"',
    },
    { name: "a port that is none", args: ["--port", "0"], code: 2, says: "1 to 65535" },
    { name: "a configuration that is absent", args: ["--config", "none.yaml"], code: 1, says: "none.yaml" },
  ])("refuses $name", async ({ args, code, says }) => {
    const outcome = await doctor(...args);
    expect(outcome).toMatchObject({ code, stdout: "" });
    expect(outcome.stderr).toContain(says);
  });
});
