import { expect, test } from "vitest";
import type { TableMessage } from "../../src/answers/table-messages.js";
import type { ToWorker } from "../../src/transport/worker-messages.js";
import { ZoneFeed } from "../../src/transport/zone-feed.js";
import { type Name, parseName } from "../../src/wire/name.js";

const ZONES = Array.from({ length: 100 }, (_, i) => parseName(`z${i}.test.`));

/** A feed, and what it has sent: names of whole zones in brackets, the kind of everything else. */
function setUp(gone: readonly Name[] = []) {
  const sent: string[] = [];
  const post = (message: ToWorker): void => {
    if (message.kind === "zones") sent.push(`[${message.messages.map(({ zone }) => ZONES.indexOf(zone)).join(" ")}]`);
    else if (message.kind === "table") sent.push(`${message.message.kind} ${ZONES.indexOf(message.message.zone)}`);
    else sent.push(message.kind);
  };
  const whole = (zone: Name): TableMessage | undefined =>
    gone.includes(zone) ? undefined : { kind: "zone", zone, serial: 1, names: [], words: new Int32Array(10) };
  return { feed: new ZoneFeed(post, { whole }), sent };
}

const changeOf = (index: number): TableMessage => ({
  kind: "zone-changed",
  zone: ZONES[index] as Name,
  serial: 2,
  names: [],
  words: new Int32Array(0),
  removed: [],
});

test("whole zones go a few at a time, each time when the last ones are taken; what stands behind comes last", () => {
  const { feed, sent } = setUp();
  feed.load(ZONES);
  feed.postBehind({ kind: "ready" });
  const range = (from: number, to: number) => `[${Array.from({ length: to - from }, (_, i) => from + i).join(" ")}]`;
  expect(sent.splice(0)).toEqual([range(0, 32)]);
  feed.taken();
  expect(sent.splice(0)).toEqual([range(32, 64)]);
  feed.taken();
  feed.taken();
  expect(sent.splice(0)).toEqual([range(64, 96), range(96, 100)]);
  feed.taken();
  expect(sent).toEqual(["ready"]);
  feed.postBehind({ kind: "ready" });
  expect(sent).toEqual(["ready", "ready"]);
});

test("a change goes at once, unless its zone waits to be sent whole", () => {
  const { feed, sent } = setUp();
  feed.load(ZONES);
  sent.length = 0;
  feed.change(changeOf(3));
  feed.change(changeOf(99));
  expect(sent).toEqual(["zone-changed 3"]);
});

test("a zone is removed behind those that come in its place, and not at all if it comes back before", () => {
  const { feed, sent } = setUp();
  const [first, second, third] = ZONES as [Name, Name, Name];
  feed.load([first]);
  feed.change({ kind: "zone-removed", zone: second });
  feed.change({ kind: "zone-removed", zone: third });
  feed.load([second]);
  feed.taken();
  feed.taken();
  expect(sent).toEqual(["[0]", "[1]", "zone-removed 2"]);
});

test("a zone that is gone when its turn comes is passed over", () => {
  const { feed, sent } = setUp(ZONES.slice(0, 50));
  feed.load(ZONES.slice(0, 51));
  expect(sent).toEqual(["[50]"]);
});

test("a thread that took another's place gets nothing that was meant for that", () => {
  const { feed, sent } = setUp();
  feed.load(ZONES.slice(0, 40));
  feed.postBehind({ kind: "ready" });
  feed.restart();
  sent.length = 0;
  feed.load(ZONES.slice(5, 6));
  feed.taken();
  expect(sent).toEqual(["[5]"]);
});
