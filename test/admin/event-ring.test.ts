import { describe, expect, test } from "vitest";
import { createEventLog } from "../../src/admin/event-ring.js";

const clock = { wallMs: () => 1_000 };
const logOf = (ring: number, startedMs = 1_796_000_000_000) => createEventLog(clock, startedMs, ring);
const numbers = (events: readonly { id: string }[] | undefined) => events?.map(({ id }) => id.split("-")[1]);

describe("the log of events", () => {
  test("gives what came after an id, in order", () => {
    const log = logOf(10);
    const start = log.lastId;
    for (let i = 0; i < 3; i++) log.publish({ type: "ready" });
    expect(numbers(log.since(start))).toEqual(["1", "2", "3"]);
    const [, second] = log.since(start) ?? [];
    expect(numbers(log.since(second?.id ?? ""))).toEqual(["3"]);
    expect(log.since(log.lastId)).toEqual([]);
  });

  test("says when what came after an id is not all there any more", () => {
    const log = logOf(3);
    const start = log.lastId;
    for (let i = 0; i < 3; i++) log.publish({ type: "ready" });
    expect(numbers(log.since(start))).toEqual(["1", "2", "3"]);
    log.publish({ type: "ready" });
    expect(log.since(start)).toBeUndefined();
    expect(numbers(log.since(start.replace(/0$/, "1")))).toEqual(["2", "3", "4"]);
  });

  test.each(["", "7", "x-1", "-1", "--", "1e3", "a-01", "a-1 ", `${"z".repeat(40)}-1`, "a-99999999999999999999"])(
    "knows nothing of the id %j",
    (id) => {
      const log = logOf(3);
      log.publish({ type: "ready" });
      expect(log.since(id)).toBeUndefined();
    },
  );

  test("tells ids of another run apart", () => {
    const before = logOf(10, 1_796_000_000_000);
    before.publish({ type: "ready" });
    expect(logOf(10, 1_796_000_000_001).since(before.lastId)).toBeUndefined();
  });

  test("has no id of the future", () => {
    const log = logOf(3);
    expect(log.since(log.lastId.replace(/0$/, "5"))).toBeUndefined();
  });

  test("tells listeners until they leave", () => {
    const log = logOf(3);
    const seen: string[] = [];
    const leave = log.subscribe(({ type }) => seen.push(type));
    log.publish({ type: "reload", ok: true });
    leave();
    log.publish({ type: "ready" });
    expect(seen).toEqual(["reload"]);
  });
});
