import { readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Config } from "../config/config.js";
import { type Clock, pause } from "../lib/clock.js";
import type { Subscriber } from "./events.js";

/** Milliseconds between two looks. Looking works on every file system, which being notified does not. */
const LOOK_EVERY_MS = 1_000;

/** Looks after the files of a configuration, for `watch: true`. */
export interface ConfigWatch {
  /** Looks after these files from now on, as they are now; none where the configuration does not ask for it. */
  follow(config: Config): void;
  stop(): void;
}

/**
 * Calls `onChange` once YAML files in the folders of the configuration have changed and have then been left alone for one
 * look: an editor or a copy may take several steps.
 */
export function createConfigWatch(clock: Clock, onChange: () => void): ConfigWatch {
  let folders: readonly string[] = [];
  let generation = 0;

  async function watch(mine: number): Promise<void> {
    let known = await fingerprint(folders);
    let isChanging = false;
    while (mine === generation) {
      await pause(clock, LOOK_EVERY_MS);
      const now = await fingerprint(folders);
      if (mine !== generation) return;
      if (now !== known) isChanging = true;
      else if (isChanging) {
        isChanging = false;
        onChange();
      }
      known = now;
    }
  }

  return {
    follow(config) {
      generation += 1;
      const files = [config.file, ...config.zones.map(({ position }) => position.file)];
      folders = config.watch ? [...new Set(files.map((file) => dirname(file)))] : [];
      if (folders.length > 0) void watch(generation);
    },
    stop() {
      generation += 1;
    },
  };
}

/** Subscriber that has the files of each configuration looked after. */
export function configWatching(watch: ConfigWatch): Subscriber {
  return { "zones-replaced": ({ config }) => watch.follow(config) };
}

/**
 * Differs when a file of the folders was changed, replaced, added or removed: also one that is not part of the
 * configuration yet, because it is wrong. Kubernetes swaps links, hence the inode.
 */
async function fingerprint(folders: readonly string[]): Promise<string> {
  const marks = await Promise.all(folders.map(folderMarks));
  return marks.flat().join("\n");
}

async function folderMarks(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((): string[] => []);
  return Promise.all(
    names
      .filter((name) => /\.ya?ml$/.test(name))
      .sort()
      .map(async (name) => {
        try {
          const { mtimeMs, ino, size } = await stat(join(folder, name));
          return `${name} ${mtimeMs} ${ino} ${size}`;
        } catch {
          return `${name} absent`;
        }
      }),
  );
}
