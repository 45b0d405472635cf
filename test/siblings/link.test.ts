import { expect, test } from "vitest";
import { waitUntil } from "../support/wait.js";
import { testSiblings } from "./two-servers.js";

const SECRET = "a".repeat(64);

test("what is asked and given on several connections is decided once and reaches the sibling", async () => {
  const [one, two] = await testSiblings([[SECRET], [SECRET]]);
  await one?.start();
  await two?.start();
  await waitUntil(() => one?.siblings.fresh().length === 1 && two?.siblings.fresh().length === 1);
  const ask = { endpoint: "api.k8s.example.test", target: "cp1", kind: "drained" } as const;
  for (let n = 1; n <= 5; n += 1) {
    expect(await one?.siblings.ask(ask)).toEqual({ refused: [], silent: [] });
    expect(two?.asked).toHaveLength(n);
  }
});
