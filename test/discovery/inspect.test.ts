import { expect, test } from "vitest";
import { describeCandidate, inspect } from "../../src/discovery/inspect.js";
import type { SourceListener } from "../../src/discovery/source.js";

function run(mustFollow: boolean, act: (listener: SourceListener, timeOut: () => void) => void) {
  let timeOut = () => {};
  return inspect(
    { start: (listener) => act(listener, () => timeOut()), stop: () => {} },
    {
      mustFollow,
      after: (task) => {
        timeOut = task;
      },
    },
  );
}

const cp1 = [{ id: "cp1", addresses: ["192.0.2.1"] }];

test("the first set is what a source says", async () => {
  expect(await run(false, ({ proposed }) => proposed(cp1, []))).toEqual({ candidates: cp1 });
});

test("how long its credential holds is noted, also if it cannot be read", async () => {
  const credential = { endsAtMs: 2, warnFromMs: 1 };
  const denied = await run(false, ({ credentialRead, failed }) => {
    credentialRead(credential);
    failed({ problem: "401", needsOperator: true });
  });
  expect(denied).toEqual({ problem: "401", credential });
});

test("a candidate is shown without what would move the cursor", () => {
  const candidate = { id: "cp\u001b[2J1", addresses: ["192.0.2.1", "2001:db8::1"] };
  expect(describeCandidate(candidate)).toBe("cp [2J1 (192.0.2.1, 2001:db8::1)");
});

test("a source that must follow changes has to begin to", async () => {
  const denied = await run(true, ({ proposed, failed }) => {
    proposed(cp1, []);
    failed({ problem: "no watch", needsOperator: true });
  });
  expect(denied).toEqual({ problem: "no watch" });
  const followed = await run(true, ({ proposed, confirmed }) => {
    proposed(cp1, []);
    confirmed();
  });
  expect(followed).toHaveProperty("candidates");
});

test("one that says nothing is not waited for for ever", async () => {
  expect(await run(false, (_, timeOut) => timeOut())).toHaveProperty("problem");
});
