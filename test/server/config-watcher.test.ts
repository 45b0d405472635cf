import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Config } from "../../src/config/config.js";
import { configWatching, createConfigWatch } from "../../src/server/config-watcher.js";
import { afterThisTest } from "../support/cleanup.js";
import { createFakeClock } from "../support/fake-clock.js";
import { temporaryFolder } from "../support/temp.js";

/** Two folders of a configuration that is looked after, each with a file. */
function setUp({ watch = true }: { watch?: boolean } = {}) {
  const folder = temporaryFolder();
  const write = (path: string, text: string) => writeFileSync(join(folder, path), text);
  mkdirSync(join(folder, "zones"));
  write("livezone.yaml", "a: 1\n");
  write("zones/k8s.yaml", "b: 1\n");
  const config = (isWatched = watch) =>
    ({
      file: join(folder, "livezone.yaml"),
      watch: isWatched,
      zones: [{ position: { file: join(folder, "zones/k8s.yaml") } }],
    }) as unknown as Config;
  const clock = createFakeClock();
  let changes = 0;
  const watcher = createConfigWatch(clock, () => {
    changes += 1;
  });
  afterThisTest(() => watcher.stop());
  watcher.follow(config());
  return {
    folder,
    write,
    config,
    watcher,
    clock,
    /** Lets some looks pass, with time for real files to be read at each. @returns how often a change was told in all */
    async look(times = 1) {
      for (let look = 0; look < times; look += 1) {
        await clock.advance(0);
        await settle(() => clock.pendingTimers > 0);
        await clock.advance(1_000);
        await settle(() => clock.pendingTimers > 0);
      }
      return changes;
    },
  };
}

/** Waits for files to be read: until `condition` holds, or for a moment where it never will. */
async function settle(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 50 && !condition(); turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
}

describe("a change is told once, when files have been left alone for a look", () => {
  type Prepared = ReturnType<typeof setUp>;
  const cases: readonly { readonly name: string; readonly change: (set: Prepared) => void }[] = [
    { name: "the main file is written", change: ({ write }) => write("livezone.yaml", "a: 12\n") },
    { name: "a zone file is written", change: ({ write }) => write("zones/k8s.yaml", "b: 12\n") },
    { name: "a file is added", change: ({ write }) => write("zones/new.yml", "c: 1\n") },
    { name: "a file is removed", change: ({ folder }) => rmSync(join(folder, "zones/k8s.yaml")) },
    {
      name: "a file is replaced by one of the same size",
      change({ folder, write }) {
        write("zones/.new", "b: 2\n");
        renameSync(join(folder, "zones/.new"), join(folder, "zones/k8s.yaml"));
      },
    },
    {
      name: "a link leads nowhere",
      change: ({ folder }) => symlinkSync(join(folder, "nowhere"), join(folder, "zones/link.yaml")),
    },
    { name: "a folder is removed", change: ({ folder }) => rmSync(join(folder, "zones"), { recursive: true }) },
  ];

  test.each(cases)("$name", async ({ change }) => {
    const set = setUp();
    expect(await set.look()).toBe(0);
    change(set);
    expect(await set.look()).toBe(0);
    expect(await set.look()).toBe(1);
    expect(await set.look(2)).toBe(1);
  });

  test("a copy that takes several looks", async () => {
    const { write, look } = setUp();
    await look();
    for (const step of ["a: 12", "a: 123", "a: 1234"]) {
      write("livezone.yaml", step);
      expect(await look()).toBe(0);
    }
    expect(await look()).toBe(1);
  });
});

describe("nothing is told", () => {
  test("of files that are no YAML", async () => {
    const { write, look } = setUp();
    await look();
    write("livezone.yaml.swp", "x");
    write("zones/token", "x");
    expect(await look(3)).toBe(0);
  });

  test("of what was written before the configuration was taken", async () => {
    const { write, look, watcher, config } = setUp();
    await look();
    write("zones/k8s.yaml", "b: 12\n");
    watcher.follow(config());
    expect(await look(3)).toBe(0);
  });

  test.each([
    {
      name: "where the configuration does not ask for it",
      end: ({ watcher, config }: Ending) => watcher.follow(config(false)),
    },
    { name: "after a stop", end: ({ watcher }: Ending) => watcher.stop() },
  ])("$name", async ({ end }) => {
    const set = setUp();
    await set.look();
    end(set);
    set.write("livezone.yaml", "a: 12\n");
    expect(await set.look(3)).toBe(0);
    expect(set.clock.pendingTimers).toBe(0);
  });

  test("where it never asked for it", async () => {
    const { write, look } = setUp({ watch: false });
    write("livezone.yaml", "a: 12\n");
    expect(await look(3)).toBe(0);
  });
});

type Ending = ReturnType<typeof setUp>;

test("each configuration that is taken is followed", () => {
  const followed: Config[] = [];
  const config = setUp({ watch: false }).config();
  const subscriber = configWatching({ follow: (one) => followed.push(one), stop: () => {} });
  subscriber["zones-replaced"]?.({ type: "zones-replaced", config }, 0);
  expect(followed).toEqual([config]);
});
