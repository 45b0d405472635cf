import { expect, test } from "vitest";
import type { Heard } from "../../src/doctor/facts.js";
import { judgeSecondaries } from "../../src/doctor/judge-secondaries.js";
import { heardReply, silence } from "./replies.js";

const ZONE = "k8s.example.com";
const soa = (serial: number): Heard =>
  heardReply({ aa: true, answers: [{ name: ZONE, type: "SOA", ttl: 5, data: `a. b. ${serial} 60 30 1209600 5` }] });

test.each<{ readonly name: string; readonly heard: Heard; readonly serial?: number; readonly id?: string }>([
  { name: "the same serial", heard: soa(9), serial: 9 },
  { name: "an older one", heard: soa(8), serial: 9, id: "secondary-behind" },
  { name: "a later one than anyone else's", heard: soa(10), serial: 9 },
  { name: "nobody to compare with", heard: soa(8) },
  { name: "no answer", heard: silence, serial: 9, id: "secondary-unreachable" },
  { name: "REFUSED", heard: heardReply({ rcode: "REFUSED" }), serial: 9, id: "secondary-lame" },
  { name: "an answer without authority", heard: heardReply(), serial: 9, id: "secondary-lame" },
])("$name", ({ heard, serial, id }) => {
  const secondaries = [{ server: { address: "10.0.0.53", port: 53 }, soa: heard }];
  const findings = judgeSecondaries({ secondaries, ...(serial === undefined ? {} : { serial }) }, ZONE);
  expect(findings.map((finding) => finding.id)).toEqual(id === undefined ? [] : [id]);
  for (const { subject, severity } of findings) {
    expect(severity).toBe("warning");
    expect(subject).toBe(`10.0.0.53:53 ${ZONE}`);
  }
});
