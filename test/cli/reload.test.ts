import { userInfo } from "node:os";
import { describe, expect, test } from "vitest";
import { reloadSchema } from "../../src/admin/schemas.js";
import { runHere } from "./in-process.js";
import { refusal, startStandIn } from "./stand-in.js";

const reloaded = (more: object) => reloadSchema.parse({ ok: true, zones: 1, endpoints: 2, ...more });

/** Runs the command against a server that replies so. */
async function reload(reply: object, ...options: readonly string[]) {
  const { url, asked } = await startStandIn({ POST: reply });
  return { ...(await runHere("reload", ...options, "--admin", url)), asked };
}

describe("livezone reload", () => {
  test("asks for it in the name of the user", async () => {
    const { asked } = await reload(reloaded({}));
    expect(asked).toEqual([{ method: "POST", path: "/api/v1/reload", body: { author: userInfo().username } }]);
  });

  test.each([
    { reply: {}, says: "reloaded: 1 zone, 2 endpoints\n" },
    { reply: { zones: 2, endpoints: 1 }, says: "reloaded: 2 zones, 1 endpoint\n" },
    { reply: { zones: 0, endpoints: 0, needRestart: [] }, says: "reloaded: 0 zones, 0 endpoints\n" },
    {
      reply: {
        needRestart: [
          { setting: "workers", running: "1", configured: "4" },
          { setting: "admin.http", configured: "127.0.0.1:9853" },
          { setting: "stateDir", running: "/var/lib/livezone" },
        ],
      },
      says: `reloaded: 1 zone, 2 endpoints
! workers needs a restart: it is 1 now, and 4 from then on
! admin.http needs a restart: it is not set now, and 127.0.0.1:9853 from then on
! stateDir needs a restart: it is /var/lib/livezone now, and not set from then on
`,
    },
  ])("says what came of it: $says", async ({ reply, says }) => {
    expect(await reload(reloaded(reply))).toMatchObject({ code: 0, stdout: says, stderr: "" });
  });

  test("prints with --json what the server said", async () => {
    const reply = reloaded({ needRestart: [{ setting: "workers", running: "1" }] });
    expect(JSON.parse((await reload(reply, "--json")).stdout)).toEqual(reply);
  });

  test("names each problem of a configuration that is refused", async () => {
    const problems = ["a.yaml:1:1: a is wrong.\nMend a. [A]", "b.yaml:2:1: b is wrong.\nMend b. [B]"];
    const { url } = await startStandIn(refusal("RELOAD_REFUSED", "the configuration has 2 problems", problems), 422);
    expect(await runHere("reload", "--admin", url)).toEqual({
      code: 1,
      stdout: "",
      stderr: `${problems.join("\n")}\nlivezone: the configuration has 2 problems [RELOAD_REFUSED]\n`,
    });
  });
});
