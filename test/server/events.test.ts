import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { ServerEvents, type Subscriber } from "../../src/server/events.js";
import { createFakeClock } from "../support/fake-clock.js";

function setUp() {
  const clock = createFakeClock();
  const lines: { msg: string; subscriber?: string; event?: string; error?: string }[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  return { clock, lines, events: new ServerEvents(clock, log) };
}

describe("the stream of events", () => {
  test("tells each subscriber what concerns it, with the moment, in the order they were added", async () => {
    const { clock, events } = setUp();
    const seen: string[] = [];
    events.subscribe("a", { "isolation-changed": ({ isolated }, atMs) => seen.push(`a ${isolated} ${atMs}`) });
    events.subscribe("b", { stalled: ({ lengthMs }) => seen.push(`b ${lengthMs}`) });
    events.subscribe("c", { "isolation-changed": () => seen.push("c") });
    events.publish({ type: "isolation-changed", isolated: true });
    await clock.advance(5);
    events.publish({ type: "stalled", lengthMs: 7 });
    expect(seen).toEqual([`a true ${clock.wallMs() - 5}`, "c", "b 7"]);
  });

  test("logs a subscriber that throws, and tells the others all the same", () => {
    const { events, lines } = setUp();
    let told = 0;
    events.subscribe("broken", {
      stalled: () => {
        throw new Error("a defect");
      },
    });
    events.subscribe("sound", {
      stalled: () => {
        told += 1;
      },
    });
    events.publish({ type: "stalled", lengthMs: 1 });
    events.publish({ type: "stalled", lengthMs: 2 });
    expect(told).toBe(2);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatchObject({
      msg: "event subscriber failed",
      subscriber: "broken",
      event: "stalled",
      error: "a defect",
    });
  });

  test("delivers what a subscriber publishes once everybody has the event before, so that all see one order", () => {
    const { events } = setUp();
    const seen: string[] = [];
    events.subscribe("first", {
      stalled: ({ lengthMs }) => {
        seen.push(`first ${lengthMs}`);
        if (lengthMs === 1) events.publish({ type: "stalled", lengthMs: 2 });
      },
    });
    events.subscribe("second", { stalled: ({ lengthMs }) => seen.push(`second ${lengthMs}`) });
    events.publish({ type: "stalled", lengthMs: 1 });
    expect(seen).toEqual(["first 1", "second 1", "first 2", "second 2"]);
  });

  test("ends a subscription, after which its name is free again", () => {
    const { events } = setUp();
    let told = 0;
    const subscriber: Subscriber = {
      stalled: () => {
        told += 1;
      },
    };
    const end = events.subscribe("one", subscriber);
    expect(() => events.subscribe("one", subscriber)).toThrow("there is a subscriber one already");
    end();
    events.publish({ type: "stalled", lengthMs: 1 });
    expect(told).toBe(0);
    events.subscribe("one", subscriber);
  });
});
