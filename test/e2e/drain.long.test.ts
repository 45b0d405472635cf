import { test } from "vitest";
import { describeWith } from "../support/programs.js";
import { drainInTurn, drainPairInTurn } from "./drains.js";

describeWith(["unbound"], "a drain as an operator lives it", () => {
  test("costs a client behind a resolver not one connection", { timeout: 180_000 }, () => drainInTurn(10));

  test("given to one of two siblings, costs none either", { timeout: 180_000 }, () => drainPairInTurn(10));
});
