import { expect, test } from "vitest";
import { LANES, Lanes } from "../../src/siblings/lanes.js";
import type { Reply } from "../../src/siblings/messages.js";

/** Connections that reply when the test says so, in the order in which they were made; the first one is not a lane. */
function connections() {
  const made: { readonly ids: number[]; isStopped: boolean; reply(reply: Reply | undefined): void }[] = [];
  const make = () => {
    const waiting: ((reply: Reply | undefined) => void)[] = [];
    const connection = {
      ids: [] as number[],
      isStopped: false,
      reply: (reply: Reply | undefined) => waiting.shift()?.(reply),
      start: () => {},
      stop() {
        connection.isStopped = true;
      },
      keysChanged: () => {},
      ask(_message: object, _withinMs: number, id = 0) {
        connection.ids.push(id);
        return new Promise<Reply | undefined>((resolve) => waiting.push(resolve));
      },
    };
    made.push(connection);
    return connection;
  };
  let lastId = 0;
  const lanes = new Lanes(
    make(),
    () => {
      lastId += 1;
      return lastId;
    },
    make,
  );
  return { lanes, made };
}

test("asks on all connections by the same number, and takes the first reply", async () => {
  const { lanes, made } = connections();
  lanes.open(2);
  const asked = lanes.ask({ t: "safe" }, 1_000);
  made[0]?.reply(undefined);
  made[2]?.reply({ safeInMs: 7 });
  expect(await asked).toEqual({ safeInMs: 7 });
  expect(made.map(({ ids }) => ids)).toEqual([[1], [1], [1]]);
});

test("has no reply once no connection has one", async () => {
  const { lanes, made } = connections();
  lanes.open(1);
  const asked = lanes.ask({ t: "safe" }, 1_000);
  for (const one of made) one.reply(undefined);
  expect(await asked).toBeUndefined();
});

test("has as many lanes as the sibling takes, and not more than are wanted", () => {
  const { lanes, made } = connections();
  lanes.open(16);
  expect(made).toHaveLength(1 + LANES);
  lanes.open(1);
  expect(made.map(({ isStopped }) => isStopped)).toEqual([false, false, true, true]);
  lanes.open(2);
  expect(made).toHaveLength(2 + LANES);
  lanes.stop();
  expect(made.slice(1).every(({ isStopped }) => isStopped)).toBe(true);
});
