import fc from "fast-check";
import { expect, test } from "vitest";
import type { CompiledAnswer, NamedNode } from "../../src/answers/answer.js";
import { packNodes, unpackNodes } from "../../src/answers/codec.js";
import { parseName } from "../../src/wire/name.js";
import { serveSketch } from "./serve.js";

const u16 = fc.nat(0xffff);
const offset = fc.integer({ min: -1, max: 0xffff });

const answer: fc.Arbitrary<CompiledAnswer> = fc.record({
  flags: u16,
  answerCount: u16,
  authorityCount: u16,
  additionalCount: u16,
  body: fc.uint8Array({ maxLength: 700 }),
  baseLength: fc.nat(255),
  pointers: fc.array(u16, { maxLength: 40 }),
  serialAt: offset,
  requiredLength: u16,
  requiredAdditional: u16,
  rotation: fc.record({ at: u16, count: u16, stride: u16, sent: u16 }),
});

const label = fc.stringMatching(/^[a-z0-9*_-]{1,63}$/);

const named: fc.Arbitrary<NamedNode> = fc
  .tuple(
    fc.array(label, { minLength: 1, maxLength: 3 }).map((labels) => parseName(`${labels.join(".")}.`)),
    fc.record({
      types: fc.array(fc.record({ type: u16, answer }), { maxLength: 4 }),
      fallback: fc.oneof(answer, fc.constant("nodata" as const)),
      below: fc.constantFrom("nxdomain" as const, "wildcard" as const, "fallback" as const),
    }),
    fc.option(u16, { nil: undefined }),
  )
  .map(([name, node, anyType]) => ({ name, node: anyType === undefined ? node : { ...node, anyType } }));

test("what is unpacked is what was packed, also the second time", () => {
  fc.assert(
    fc.property(fc.array(named, { maxLength: 6 }), (nodes) => {
      for (let time = 0; time < 2; time += 1) expect(unpackNodes(structuredClone(packNodes(nodes)))).toEqual(nodes);
    }),
  );
});

test("a body of 64 kB and names of 255 octets survive", () => {
  const served = serveSketch({
    records: Array.from({ length: 240 }, (_, i) => `big 60 IN TXT "${String(i).padStart(250, "x")}"`).join("\n"),
    endpoints: { api: { cp1: ["192.0.2.11"] } },
  });
  const name = parseName(`${"a".repeat(63)}.${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(61)}.`);
  const nodes = [...served.published.compile().nodes.map(({ node }) => ({ name, node }))];
  expect(
    Math.max(...nodes.flatMap(({ node }) => node.types.map(({ answer: { body } }) => body.length))),
  ).toBeGreaterThan(60_000);
  expect(unpackNodes(packNodes(nodes))).toEqual(nodes);
});
