import { userInfo } from "node:os";
import { describe, expect, test } from "vitest";
import { runHere } from "./in-process.js";
import { change, startStandIn, targetUp } from "./stand-in.js";

const WORDS = ["undrain", "api.k8s.example.test", "cp1"];

describe("livezone undrain", () => {
  test("asks for it by the target's route, in the name of the user", async () => {
    const { url, asked } = await startStandIn({ POST: change() });
    await runHere("undrain", "api.k8s.example.test", "a/b", "--admin", url);
    expect(asked).toEqual([
      {
        method: "POST",
        path: "/api/v1/endpoints/api.k8s.example.test/targets/a%2Fb/undrain",
        body: { author: userInfo().username },
      },
    ]);
  });

  test.each([
    { name: "was drained", reply: {}, says: "is not drained any more; it is answered" },
    { name: "was not", reply: { changed: false }, says: "was not drained; it is answered" },
    {
      name: "is down",
      reply: { target: targetUp({ health: "down", answered: false }) },
      says: "is not drained any more; it is not answered, it is down",
    },
  ])("says what came of it when the target $name", async ({ reply, says }) => {
    const { url } = await startStandIn({ POST: change(reply) });
    expect(await runHere(...WORDS, "--admin", url)).toEqual({
      code: 0,
      stdout: `cp1 of api.k8s.example.test ${says}\n`,
      stderr: "",
    });
  });

  test("prints with --json what the server said", async () => {
    const { url } = await startStandIn({ POST: change() });
    const { code, stdout, stderr } = await runHere(...WORDS, "--json", "--admin", url);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual(change());
  });
});
