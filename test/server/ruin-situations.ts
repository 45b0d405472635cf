import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { askAt, TOKEN, targetRoute } from "../admin/server.js";
import { runLivezone } from "../cli/run.js";
import { temporaryFolder } from "../support/temp.js";
import { waitUntil } from "../support/wait.js";
import { alarms, CONFIGURED, Place, PROBES_READ, RUINS, type Ruin, reload, STATE } from "./ruined-files.js";

/** What a reload says that finds a ruined file. */
export const REFUSED = "reload refused, the old configuration stays";

/** Files of each kind are ruined while a server runs: nothing ends, no answer changes, also at a reload. */
export async function ruinWhileItRuns(how: Ruin): Promise<void> {
  const place = await Place.make();
  const livezone = await place.start();
  for (const file of CONFIGURED) {
    RUINS[how](join(livezone.folder, file));
    expect({ file, outcome: await reload(livezone) }).toEqual({ file, outcome: REFUSED });
    if (PROBES_READ.has(file)) await place.network.probed();
    if (file === "token") await expectTokenRefused(livezone.logs("server started")[0]?.http);
    expect({ file, answers: await place.answers() }).toEqual({ file, answers: place.whole });
    place.mend(livezone);
  }
  expect(await reload(livezone)).toBe("configuration reloaded");
  // What the server writes is written over, or it says that it cannot be.
  for (const name of STATE) {
    const file = join(place.stateDir, name);
    RUINS[how](file);
    const isDrained = (await place.change("drain")) === 200;
    const isWritten = () => livezone.logs("state not saved").length > 0 || !isRuined(file);
    await waitUntil(() => !isDrained || isWritten(), { timeoutMs: 15_000, describe: `${name} to be written` });
    const [api, other] = await place.answers();
    expect({ name, api, other }).toEqual({
      name,
      api: isDrained ? place.addresses.slice(1) : place.addresses,
      other: place.addresses,
    });
    await place.change("undrain");
    rmSync(file, { recursive: true, force: true });
  }
  expect(alarms(livezone)).toEqual([]);
  expect(await livezone.stop()).toMatchObject({ code: 0 });
}

/** Files of each kind are ruined while the prober is cut off: nothing ends, and the answers are held. */
export async function ruinWhileCutOff(how: Ruin): Promise<void> {
  const place = await Place.make("500ms");
  const livezone = await place.start();
  // All of them before the network goes, one after the other while it is away, and all of them when it comes back.
  for (const file of CONFIGURED) RUINS[how](join(livezone.folder, file));
  place.network.cut();
  await livezone.waitForLog("prober isolated, the last answers are held");
  expect(await place.answers()).toEqual(place.whole);
  for (const file of CONFIGURED) {
    place.mend(livezone);
    RUINS[how](join(livezone.folder, file));
    expect({ file, outcome: await reload(livezone) }).toEqual({ file, outcome: REFUSED });
    expect({ file, answers: await place.answers() }).toEqual({ file, answers: place.whole });
  }
  for (const file of CONFIGURED) RUINS[how](join(livezone.folder, file));
  for (const name of STATE) RUINS[how](join(place.stateDir, name));
  place.network.mend();
  await livezone.waitForLog("prober connected again");
  await place.network.probed();
  expect(await place.answers()).toEqual(place.whole);
  place.mend(livezone);
  for (const name of STATE) rmSync(join(place.stateDir, name), { recursive: true, force: true });
  expect(await reload(livezone)).toBe("configuration reloaded");
  expect(alarms(livezone)).toEqual([]);
  expect(await livezone.stop()).toMatchObject({ code: 0 });
}

/**
 * Files are ruined before a takeover: those of the configuration keep the successor away, those of the state are set
 * aside by it.
 */
export async function ruinBeforeTakeover(
  how: Ruin,
  configured: readonly (typeof CONFIGURED)[number][] = CONFIGURED,
): Promise<void> {
  const place = await Place.make();
  let running = await place.start();
  // Each successor has files of its own, one of them ruined.
  await Promise.all(
    configured.map(async (file) => {
      const folder = temporaryFolder();
      place.write(folder);
      RUINS[how](join(folder, file));
      const { code, stderr } = await runLivezone(["serve", "--takeover", "--config", "livezone.yaml"], { cwd: folder });
      expect({ file, code, stderr }).toEqual({ file, code: 1, stderr: expect.stringContaining("[CONFIG_") });
    }),
  );
  expect(await place.answers()).toEqual(place.whole);
  expect(running.logs("leaving the port to a successor")).toEqual([]);
  for (const name of STATE) {
    const predecessor = running;
    await place.kept();
    RUINS[how](join(place.stateDir, name));
    running = await place.start(["--takeover"]);
    expect(await predecessor.ended).toMatchObject({ code: 0 });
    expect(await place.answers()).toEqual(place.whole);
    const said = running.logs("state file set aside").map(({ file }) => file);
    expect(said).toEqual([join(place.stateDir, name)]);
    expect(alarms(running)).toEqual([]);
  }
  expect(await running.stop()).toMatchObject({ code: 0 });
}

/** Whether nothing has been written over it yet. */
function isRuined(file: string): boolean {
  try {
    return statSync(file).size > 1024 ** 2 || JSON.parse(readFileSync(file, "utf8")) === undefined;
  } catch {
    return true;
  }
}

async function expectTokenRefused(http: unknown): Promise<void> {
  const port = Number(String(http).split(":").at(-1));
  const headers = { authorization: `Bearer ${TOKEN}` };
  const { status } = await askAt({ port }, "POST", targetRoute("cp1", "undrain"), { headers });
  expect(status).toBe(503);
}
