import fc from "fast-check";
import { expect, test } from "vitest";
import type { Answers, CompiledAnswer, CompiledNode, NamedNode } from "../../src/answers/answer.js";
import { AnswerTable } from "../../src/answers/table.js";
import { applyTableMessage, changeMessage, zoneMessage } from "../../src/answers/table-messages.js";
import { TYPE } from "../../src/wire/constants.js";
import { type Name, parseName, prependLabels } from "../../src/wire/name.js";
import { answerTo } from "./read-table.js";
import { serveSketch } from "./serve.js";

const APEX = parseName("zone.test.");
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
  rotationAt: u16,
  rotationCount: u16,
  rotationStride: u16,
  rotationSent: u16,
});

/** An answer, or one for each of two sites, for both values of DO, or both. */
const answers: fc.Arbitrary<Answers> = fc.oneof(
  answer,
  fc
    .tuple(fc.integer({ min: 1, max: 2 }), fc.boolean())
    .chain(([sites, byDnssec]) =>
      fc
        .array(answer, { minLength: sites * (byDnssec ? 2 : 1), maxLength: sites * (byDnssec ? 2 : 1) })
        .map((forms) => ({ sites, byDnssec, forms })),
    ),
);

/** Types of records; those from 128 to 255 are for questions. */
const type = fc.integer({ min: 1, max: 127 });

const node: fc.Arbitrary<CompiledNode> = fc
  .record({
    types: fc.uniqueArray(fc.record({ type, answer: answers }), { maxLength: 4, selector: (entry) => entry.type }),
    fallback: fc.oneof(answers, fc.constant("nodata" as const)),
    below: fc.oneof(answers, fc.constantFrom("nxdomain" as const, "fallback" as const)),
    hasAny: fc.boolean(),
  })
  .map(({ types, fallback, below, hasAny }) => {
    const sorted = types.sort((a, b) => a.type - b.type);
    const anyType = hasAny ? sorted.at(-1)?.type : undefined;
    return { types: sorted, fallback, below, ...(anyType === undefined ? {} : { anyType }) };
  });

const label = fc.stringMatching(/^[a-z0-9_-]{1,63}$/);

const nodes: fc.Arbitrary<NamedNode[]> = fc
  .uniqueArray(label, { maxLength: 6 })
  .chain((labels) =>
    fc.tuple(...labels.map((text) => node.map((node) => ({ name: prependLabels([text], APEX), node })))),
  );

const zone = fc.record({ name: fc.constant(APEX), serial: u16, nodata: answers, nxdomain: answers, nodes });

/** The form that a client is to be given: of the last site for none that is told apart, site 0. */
function formFor(given: Answers, site: number, dnssecOk: boolean): CompiledAnswer | undefined {
  if ("body" in given) return given;
  const row = site < given.sites ? site : 0;
  return given.forms[given.byDnssec ? 2 * row + (dnssecOk ? 1 : 0) : row];
}

/** Every question about a node, with what answers it. */
function questions(
  { name, node }: NamedNode,
  nodata: Answers,
  nxdomain: Answers,
): { readonly name: Name; readonly type: number; readonly answer: Answers }[] {
  const fallback = node.fallback === "nodata" ? nodata : node.fallback;
  const any = node.types.find(({ type }) => type === node.anyType)?.answer ?? fallback;
  const missing = [1, 2, 3, 4, 5].find((type) => node.types.every((one) => one.type !== type)) ?? 0;
  const below = node.below === "nxdomain" ? nxdomain : node.below === "fallback" ? fallback : node.below;
  return [
    ...node.types.map(({ type, answer }) => ({ name, type, answer })),
    { name, type: missing, answer: fallback },
    { name, type: TYPE.ANY, answer: any },
    { name: prependLabels(["missing"], name), type: 1, answer: below as Answers },
  ];
}

function expectAnswers(table: AnswerTable, nodes: readonly NamedNode[], nodata: Answers, nxdomain: Answers): void {
  for (const named of nodes) {
    for (const { name, type, answer } of questions(named, nodata, nxdomain)) {
      for (const site of [0, 1, 2]) {
        for (const dnssecOk of [false, true]) {
          expect(answerTo(table, name, type, site, dnssecOk)).toEqual(formFor(answer, site, dnssecOk));
        }
      }
    }
  }
}

test("what is packed stands in the table, for every site and both values of DO, also after changes", () => {
  fc.assert(
    fc.property(zone, fc.array(nodes, { maxLength: 3 }), (first, changes) => {
      const table = new AnswerTable(() => 0);
      applyTableMessage(table, structuredClone(zoneMessage(first)));
      const { nodata, nxdomain } = first;
      const present = new Map(first.nodes.map((named) => [named.name, named]));
      expectAnswers(table, [...present.values()], nodata, nxdomain);
      for (const changed of changes) {
        const removed = [...present.keys()].filter((_, i) => i % 2 === 0);
        const stay = changed.filter(({ name }) => !removed.includes(name));
        const update = { zone: APEX, serial: 1, nodes: stay, removed };
        applyTableMessage(table, structuredClone(changeMessage(update)));
        for (const name of removed) present.delete(name);
        for (const named of stay) present.set(named.name, named);
        expectAnswers(table, [...present.values()], nodata, nxdomain);
      }
      applyTableMessage(table, { kind: "zone-removed", zone: APEX });
      for (const name of present.keys()) expect(answerTo(table, name, TYPE.A)).toBeUndefined();
    }),
    { seed: 42, numRuns: 60 },
  );
});

test("a body of 64 kB and names of 255 octets survive", () => {
  const served = serveSketch({
    records: Array.from({ length: 240 }, (_, i) => `big 60 IN TXT "${String(i).padStart(250, "x")}"`).join("\n"),
    endpoints: { api: { cp1: ["192.0.2.11"] } },
  });
  const name = parseName(`${"a".repeat(63)}.${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(61)}.`);
  const compiled = served.compiler.compile();
  const big = compiled.nodes.find(({ name }) => name.startsWith("\x03big"));
  if (big === undefined) throw new Error("no big node");
  const [entry] = big.node.types;
  if (entry === undefined || !("body" in entry.answer)) throw new Error("no big answer");
  expect(entry.answer.body.length).toBeGreaterThan(60_000);
  const table = new AnswerTable();
  applyTableMessage(table, zoneMessage({ ...compiled, nodes: [{ name, node: big.node }] }));
  expect(answerTo(table, name, TYPE.TXT)).toEqual(entry.answer);
});
