import { expect, test } from "vitest";
import { TYPE } from "../../src/wire/constants.js";
import { nameOctets, parseName } from "../../src/wire/name.js";
import { checkCnames, checkCuts } from "../../src/zone/conflicts.js";
import { addRecord, type Entries } from "../../src/zone/entries.js";

const AT = { file: "zone.yaml", line: 1, column: 1 };
const name = (text: string) => parseName(`${text}.k8s.example.`);

/** Entries of `owner type target` lines; a target of an address is of no account here. */
function entriesOf(...lines: readonly (readonly [owner: string, type: number, target?: string])[]): Entries {
  const entries: Entries = new Map();
  for (const [owner, type, target] of lines) {
    const rdata = target === undefined ? Uint8Array.of(192, 0, 2, 1) : nameOctets(name(target));
    addRecord(entries, { name: name(owner), type, ttl: 5, position: AT, what: owner }, rdata);
  }
  return entries;
}

function codes(check: (report: (position: object, code: string) => void) => void): string[] {
  const found: string[] = [];
  check((_position, code) => found.push(code));
  return found;
}

test.each([
  ["an alias alone", entriesOf(["a", TYPE.CNAME, "b"]), []],
  ["beside other data", entriesOf(["a", TYPE.CNAME, "b"], ["a", TYPE.A]), ["RECORD_CNAME_CONFLICT"]],
  ["twice", entriesOf(["a", TYPE.CNAME, "b"], ["a", TYPE.CNAME, "c"]), ["RECORD_CNAME_MULTIPLE"]],
  ["at what follows health", entriesOf(["api", TYPE.CNAME, "b"]), ["RECORD_CNAME_CONFLICT"]],
])("aliases: %s", (_name, entries, expected) => {
  const reserved = new Map([[`${name("api")} ${TYPE.A}`, "the endpoint"]]);
  expect(codes((report) => checkCnames(entries, reserved, report))).toEqual(expected);
});

test.each([
  ["glue of the child", entriesOf(["c", TYPE.NS, "ns.c"], ["ns.c", TYPE.A]), []],
  ["other data below", entriesOf(["c", TYPE.NS, "ns.c"], ["www.c", TYPE.A]), ["RECORD_BELOW_DELEGATION"]],
  ["a wildcard that is delegated", entriesOf(["*", TYPE.NS, "ns"]), ["RECORD_WILDCARD_DELEGATION"]],
])("cuts: %s", (_name, entries, expected) => {
  const cuts = new Set([...entries.values()].filter(({ type }) => type === TYPE.NS).map((entry) => entry.name));
  expect(codes((report) => checkCuts(entries, cuts, [], report))).toEqual(expected);
});
