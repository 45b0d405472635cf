import { expect, test } from "vitest";
import { askTwice } from "../../src/doctor/ask-twice.js";
import type { Heard, Question } from "../../src/doctor/facts.js";

const QUESTION: Question = {
  server: { address: "192.0.2.53", port: 53 },
  name: "api.k8s.example.com",
  type: "A",
  recurse: true,
  transport: "tcp",
};
const SILENCE: Heard = { silence: "the connection was closed without an answer" };
const REPLY = { reply: {} } as Heard;

test.each([
  { name: "a reply is not asked for again", heard: [REPLY], result: REPLY },
  { name: "one connection that is turned away says nothing", heard: [SILENCE, REPLY], result: REPLY },
  { name: "two do", heard: [SILENCE, SILENCE], result: SILENCE },
])("$name", async ({ heard, result }) => {
  const coming = [...heard];
  expect(await askTwice(async () => coming.shift() as Heard, QUESTION)).toBe(result);
  expect(coming).toEqual([]);
});
