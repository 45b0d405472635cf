import { userInfo } from "node:os";
import { describe, expect, test } from "vitest";
import { runHere } from "./in-process.js";
import { change, refusal, startStandIn, targetUp } from "./stand-in.js";

const force = (health: string, ...more: readonly string[]) =>
  runHere("force", health, "api.k8s.example.test", "cp1", ...more);

describe("livezone force", () => {
  test("asks for the health, with all that the options say", async () => {
    const { url, asked } = await startStandIn({ POST: change() });
    await force("up", "--admin", url);
    await force("down", "--for", "30m", "--reason", "disk is full", "--force", "--admin", url);
    const author = userInfo().username;
    expect(asked.map(({ body }) => body)).toEqual([
      { author, health: "up" },
      { author, health: "down", for: "30m", reason: "disk is full", force: true },
    ]);
    expect(asked[0]).toMatchObject({
      method: "POST",
      path: "/api/v1/endpoints/api.k8s.example.test/targets/cp1/force",
    });
  });

  test.each([
    { health: "up", reply: {}, says: "is forced up; it is answered" },
    { health: "up", reply: { changed: false }, says: "was forced up; it is answered" },
    { health: "down", reply: { target: targetUp({ answered: false }) }, says: "is forced down; it is not answered" },
  ])("says what came of it: $says", async ({ health, reply, says }) => {
    const { url } = await startStandIn({ POST: change(reply) });
    expect(await force(health, "--admin", url)).toEqual({
      code: 0,
      stdout: `cp1 of api.k8s.example.test ${says}\n`,
      stderr: "",
    });
  });

  test("says what else came of it, below", async () => {
    const { url } = await startStandIn({ POST: change({ failsOpen: true, persisted: false }) });
    expect((await force("down", "--admin", url)).stdout).toMatch(
      /^cp1 of .*\n! api\.k8s\.example\.test has too few targets up now.*\n! without stateDir.*\n$/,
    );
  });

  test("prints with --json what the server said, and nothing else", async () => {
    const { url } = await startStandIn({ POST: change({ failsOpen: true }) });
    const { stdout } = await force("down", "--json", "--admin", url);
    expect(JSON.parse(stdout)).toEqual(change({ failsOpen: true }));
  });

  test("takes no other health, and asks nothing then", async () => {
    const { url, asked } = await startStandIn({});
    const { code, stderr } = await force("sideways", "--admin", url);
    expect(code).toBe(2);
    expect(stderr).toContain("Allowed choices are up, down.");
    expect(asked).toEqual([]);
  });

  test("says what the server refused, and what to do", async () => {
    const { url } = await startStandIn(refusal("LAST_ANSWERABLE", "cp1 is the last"), 409);
    expect(await force("down", "--admin", url)).toEqual({
      code: 1,
      stdout: "",
      stderr: "livezone: cp1 is the last; bring another target up first, or use --force [LAST_ANSWERABLE]\n",
    });
  });
});
