import { expect, test } from "vitest";
import { TYPE } from "../../src/wire/constants.js";
import { parseName } from "../../src/wire/name.js";
import { RecordWriter } from "../../src/wire/record-writer.js";

const record = (name: string) => ({ name: parseName(name), type: TYPE.A, ttl: 5, rdata: Uint8Array.of(192, 0, 2, 1) });

test("what is taken back leaves nothing behind: its names are not pointed to any more", () => {
  const writer = new RecordWriter();
  writer.begin(12);
  writer.record(record("a.example.test"));
  const length = writer.length;
  writer.record(record("b.other.test"));
  writer.cutTo(length);
  expect(writer.length).toBe(length);
  writer.record(record("c.other.test"));
  const again = Buffer.from(writer.room.subarray(0, writer.length));
  writer.begin(12);
  writer.record(record("a.example.test"));
  writer.record(record("c.other.test"));
  expect(again).toEqual(Buffer.from(writer.room.subarray(0, writer.length)));
  expect(again.subarray(length, length + 9).toString("latin1")).toBe("\x01c\x05other\xc0");
});

test("a message that begins anew knows none of the names before", () => {
  const writer = new RecordWriter();
  writer.begin(12);
  writer.record(record("a.example.test"));
  writer.begin(12);
  writer.record(record("a.example.test"));
  expect(writer.room[0]).toBe(1);
  expect(writer.pointers).toEqual([]);
});
