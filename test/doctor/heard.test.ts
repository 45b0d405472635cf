import { expect, test } from "vitest";
import { addressesIn, rcodeOf } from "../../src/doctor/heard.js";
import { heardReply, silence } from "./replies.js";

test("addresses come from the answer section alone, and none from silence", () => {
  const cname = { name: "a.example", type: "CNAME", ttl: 5, data: "b.example." };
  const a = { name: "b.example", type: "A", ttl: 5, data: "192.0.2.1", address: "192.0.2.1" };
  const glue = { ...a, data: "192.0.2.2", address: "192.0.2.2" };
  expect(addressesIn(heardReply({ answers: [cname, a], additionals: [glue] }))).toEqual(["192.0.2.1"]);
  expect(addressesIn(silence)).toEqual([]);
});

test("silence has no response code", () => {
  expect([rcodeOf(heardReply({ rcode: "SERVFAIL" })), rcodeOf(silence)]).toEqual(["SERVFAIL", undefined]);
});
