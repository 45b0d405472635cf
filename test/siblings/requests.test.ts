import { expect, test } from "vitest";
import type { Peer } from "../../src/siblings/host.js";
import type { Replied, Spoken } from "../../src/siblings/messages.js";
import { Asked, hearRequest } from "../../src/siblings/requests.js";

/** What is replied to messages of one sibling, and what was decided. */
function setUp() {
  const replies: Replied[] = [];
  const judged: string[] = [];
  const kept: boolean[] = [];
  const peer: Peer = { name: "ns2", at: { address: "192.0.2.1", port: 1 }, condition: "fresh", sinceMs: 0 };
  const asked = new Asked();
  asked.from("boot 1");
  const state = {
    error: undefined as Error | undefined,
    refusal: undefined as { code: string; message: string } | undefined,
  };
  const hear = (message: Spoken) =>
    hearRequest(
      {
        clock: { wallMs: () => 0 },
        peer,
        asked,
        hearing: { reply: (reply) => replies.push(reply), close: () => {} },
        host: {
          take: () => (state.error === undefined ? Promise.resolve() : Promise.reject(state.error)),
          onKept: (_peer, error) => kept.push(error === undefined),
          judge(_peer, { target }) {
            judged.push(target);
            return state.refusal;
          },
          release: () => {},
          safe: () => ({ state: "answered" }),
        },
      },
      message,
    );
  const ask = (id: number): Spoken => ({
    t: "ask",
    id,
    endpoint: "api.example.test",
    target: `cp${id}`,
    kind: "drained",
  });
  return { replies, judged, kept, asked, state, hear, ask };
}

test("a question that comes again on another connection is not decided again, and has the same reply", async () => {
  const { hear, ask, state, judged, replies } = setUp();
  state.refusal = { code: "LAST", message: "it is the last one" };
  hear(ask(1));
  state.refusal = undefined;
  hear(ask(1));
  await new Promise(setImmediate);
  expect(judged).toEqual(["cp1"]);
  expect(replies).toEqual(
    [1, 2].map(() => ({ t: "reply", id: 1, refusal: { code: "LAST", message: "it is the last one" } })),
  );
});

test("another process counts from 1 again", () => {
  const { hear, ask, asked, judged } = setUp();
  hear(ask(1));
  asked.from("boot 1");
  hear(ask(1));
  asked.from("boot 2");
  hear(ask(1));
  expect(judged).toEqual(["cp1", "cp1"]);
});

test("few questions are remembered", () => {
  const { hear, ask, judged } = setUp();
  for (let id = 1; id <= 65; id += 1) hear(ask(id));
  hear(ask(65));
  expect(judged).toHaveLength(65);
  hear(ask(1));
  expect(judged).toHaveLength(66);
});

test("overrides that cannot be kept are refused, and the host is told when that changes", async () => {
  const { hear, state, kept, replies } = setUp();
  const overrides = (id: number): Spoken => ({ t: "overrides", id, wallMs: 0, entries: [] });
  state.error = new Error("the disk is full");
  for (const [index, error] of [state.error, state.error, undefined].entries()) {
    state.error = error;
    hear(overrides(index + 1));
    await new Promise(setImmediate);
  }
  expect(kept).toEqual([false, true]);
  const refusal = { code: "NOT_PERSISTED", message: "it could not be written" };
  expect(replies).toEqual([
    { t: "reply", id: 1, refusal },
    { t: "reply", id: 2, refusal },
    { t: "reply", id: 3 },
  ]);
});

test("what asks for nothing is left to others", () => {
  const { hear } = setUp();
  expect(hear({ t: "zones", zones: [] })).toBe(false);
  expect(hear({ t: "nudge", n: 3 })).toBe(true);
});
