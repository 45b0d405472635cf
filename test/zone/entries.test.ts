import { expect, test } from "vitest";
import { TYPE } from "../../src/wire/constants.js";
import { parseName } from "../../src/wire/name.js";
import { addRecord, type Entries, entryKey } from "../../src/zone/entries.js";

test("records of one name and type are one entry, each with its place; the first gives TTL and wording", () => {
  const entries: Entries = new Map();
  const name = parseName("a.example.");
  const at = (line: number) => ({ file: "zone.yaml", line, column: 1 });
  const record = { name, type: TYPE.A, ttl: 5, what: "a.example. A" };
  addRecord(entries, { ...record, position: at(1) }, Uint8Array.of(1));
  addRecord(entries, { ...record, ttl: 9, position: at(2) }, Uint8Array.of(2));
  addRecord(entries, { ...record, type: TYPE.TXT, position: at(3) }, Uint8Array.of(3));
  expect([...entries.keys()]).toEqual([entryKey(name, TYPE.A), entryKey(name, TYPE.TXT)]);
  expect(entries.get(entryKey(name, TYPE.A))).toMatchObject({
    ttl: 5,
    position: at(1),
    positions: [at(1), at(2)],
    rdatas: [Uint8Array.of(1), Uint8Array.of(2)],
  });
});
