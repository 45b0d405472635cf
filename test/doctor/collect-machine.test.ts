import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { collectMachine, hostsLines, readResolvConf } from "../../src/doctor/collect-machine.js";
import { temporaryFolder } from "../support/temp.js";

function fileWith(text: string): string {
  const file = join(temporaryFolder(), "file");
  writeFileSync(file, text);
  return file;
}

describe("readResolvConf", () => {
  test("takes the addresses, in order", () => {
    const text =
      "# nameserver 192.0.2.9\nsearch example.com\nnameserver 192.0.2.1\n  nameserver\t2001:db8::1\nnameserver bad\n";
    expect(readResolvConf(fileWith(text))).toMatchObject({ nameservers: ["192.0.2.1", "2001:db8::1"], surplus: [] });
  });

  test("keeps the interface of a link-local address", () => {
    const text = "nameserver fe80::1%eth0\nnameserver 192.0.2.1%eth0\n";
    expect(readResolvConf(fileWith(text)).nameservers).toEqual(["fe80::1%eth0"]);
  });

  test("tells those apart that come after the third", () => {
    const text = [1, 2, 3, 4, 5].map((last) => `nameserver 192.0.2.${last}\n`).join("");
    expect(readResolvConf(fileWith(text))).toMatchObject({
      nameservers: ["192.0.2.1", "192.0.2.2", "192.0.2.3"],
      surplus: ["192.0.2.4", "192.0.2.5"],
    });
  });

  test.each(["/nonexistent/resolv.conf", "/dev/null"])("%s names none", (file) => {
    expect(readResolvConf(file)).toEqual({ file, nameservers: [], surplus: [] });
  });
});

test("hostsLines finds a name among others, whatever its case, and no comment", () => {
  const text = `127.0.0.1 localhost
192.0.2.11\tcp1 API.k8s.example.com. # for kubeadm init
# 192.0.2.12 api.k8s.example.com
2001:db8::11 api.k8s.example.com
192.0.2.13 web.api.k8s.example.com
api.k8s.example.com api.k8s.example.com
`;
  expect(hostsLines(text, "api.k8s.example.com")).toEqual([
    { line: 2, text: "192.0.2.11\tcp1 API.k8s.example.com. # for kubeadm init", address: "192.0.2.11" },
    { line: 4, text: "2001:db8::11 api.k8s.example.com", address: "2001:db8::11" },
  ]);
});

test("collectMachine asks getaddrinfo only if it is given", async () => {
  const resolvConf = { file: "f", nameservers: [], surplus: [] };
  const hosts = fileWith("192.0.2.11 a.example\n");
  const without = await collectMachine(resolvConf, hosts, ["a.example", "b.example"], undefined);
  expect([...without.endpoints].map(([name, { hosts, lookup }]) => [name, hosts.length, lookup])).toEqual([
    ["a.example", 1, undefined],
    ["b.example", 0, undefined],
  ]);
  const lookup = { addresses: ["192.0.2.1"] };
  const asked = await collectMachine(resolvConf, "/nonexistent/hosts", ["a.example"], async () => lookup);
  expect(asked.endpoints.get("a.example")).toEqual({ hosts: [], lookup });
});
