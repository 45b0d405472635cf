import { userInfo } from "node:os";
import { describe, expect, test } from "vitest";
import { runHere } from "./in-process.js";
import { change, startStandIn, targetUp } from "./stand-in.js";

const WORDS = ["unsuppress", "api.k8s.example.test", "cp1"];

describe("livezone unsuppress", () => {
  test("asks for it in the name of the user, and says when the target returns", async () => {
    const held = { untilMs: 60_000, changes: 6 };
    const { url, asked } = await startStandIn({ POST: change({ target: targetUp({ answered: false, held }) }) });
    expect(await runHere(...WORDS, "--admin", url)).toEqual({
      code: 0,
      stdout: "cp1 of api.k8s.example.test is not suppressed any more; its next good probe brings it back\n",
      stderr: "",
    });
    const path = "/api/v1/endpoints/api.k8s.example.test/targets/cp1/unsuppress";
    expect(asked).toEqual([{ method: "POST", path, body: { author: userInfo().username } }]);
  });

  test("says that the target was not suppressed, and whether it is answered", async () => {
    const { url } = await startStandIn({ POST: change({ changed: false }) });
    expect((await runHere(...WORDS, "--admin", url)).stdout).toBe(
      "cp1 of api.k8s.example.test was not suppressed; it is answered\n",
    );
  });

  test("prints with --json what the server said", async () => {
    const { url } = await startStandIn({ POST: change() });
    expect(JSON.parse((await runHere(...WORDS, "--json", "--admin", url)).stdout)).toEqual(change());
  });
});
