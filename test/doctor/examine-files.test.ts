import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { EndpointConfig } from "../../src/config/config.js";
import { examineFiles } from "../../src/doctor/examine-files.js";
import type { Question } from "../../src/doctor/facts.js";
import type { DoctorInput, DoctorSeams } from "../../src/doctor/input.js";
import { afterAllTests } from "../support/cleanup.js";
import { temporaryFolder } from "../support/temp.js";
import { addressRecord, heardReply } from "./replies.js";

const endpoint = {
  fqdn: "api.k8s.example.com",
  port: 6443,
  targets: [
    { id: "cp1", addresses: ["192.0.2.11"] },
    { id: "cp2", addresses: ["192.0.2.12"] },
  ],
} as unknown as EndpointConfig;

const RESOLVER = { server: { address: "192.0.2.53", port: 53 }, source: "--resolver", isOwn: false };

async function examine(isCompared: boolean, kubeconfigs: readonly string[]) {
  const looked: string[] = [];
  const asked: Question[] = [];
  const seams = {
    lookUpAsMachine: async (name: string) => {
      looked.push(name);
      return { addresses: ["192.0.2.11"] };
    },
    ask: async (question: Question) => {
      asked.push(question);
      return heardReply(question.type === "A" ? { answers: [addressRecord(question.name, "192.0.2.12")] } : {});
    },
  } as unknown as DoctorSeams;
  const machine = { resolvConf: { file: "f", nameservers: [], surplus: [] }, hostsFile: "h", isCompared };
  const input = { manifests: [], kubeconfigs, resolvers: [RESOLVER], machine } as unknown as DoctorInput;
  return { findings: await examineFiles(input, [endpoint], seams), looked, asked };
}

describe("names in clients' files", () => {
  const file = join(temporaryFolder(afterAllTests()), "admin.conf");
  writeFileSync(file, "clusters:\n  - cluster: { server: https://master.example.com:6443 }\n");

  test("are looked up as this machine does", async () => {
    const { findings, looked, asked } = await examine(true, [file]);
    expect({ looked, asked }).toEqual({ looked: ["master.example.com"], asked: [] });
    expect(findings).toMatchObject([
      { id: "endpoint-bypassed", evidence: expect.stringContaining("target cp1 alone") },
    ]);
  });

  test("are asked of the resolver that was named", async () => {
    const { findings, looked, asked } = await examine(false, [file]);
    expect(looked).toEqual([]);
    expect(new Set(asked.map(({ server }) => server.address))).toEqual(new Set(["192.0.2.53"]));
    expect(findings).toMatchObject([
      { id: "endpoint-bypassed", evidence: expect.stringContaining("target cp2 alone") },
    ]);
  });
});

test("a file that cannot be read is a finding, and no others are lost by it", async () => {
  const { findings } = await examine(true, ["/nonexistent/admin.conf"]);
  expect(findings).toMatchObject([{ id: "file-unreadable", subject: "/nonexistent/admin.conf" }]);
});
