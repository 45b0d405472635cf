import type { PendingSetting } from "../admin/schemas.js";
import type { Config } from "../config/config.js";
import { formatAddress } from "../lib/listening.js";

/** What a process takes from its configuration once, when it starts, by key in the main file. */
const FIXED: Readonly<Record<string, (config: Config) => string | undefined>> = {
  "admin.socket": ({ admin }) => admin.socket,
  "admin.http": ({ admin }) => admin.http && formatAddress(admin.http),
  "admin.tokenFile": ({ admin }) => admin.tokenFile,
  "admin.hostNames": ({ admin }) => admin.hostNames.join(", ") || undefined,
  "siblings.name": ({ siblings }) => siblings?.name,
  "siblings.listen": ({ siblings }) => siblings && formatAddress(siblings.listen),
  stateDir: ({ stateDir }) => stateDir,
  workers: ({ workers }) => String(workers),
  "log.level": ({ log }) => log.level,
};

/** The settings in which a configuration differs from the one the process started with, as far as only a start takes them. */
export function pendingSettings(started: Config, now: Config): PendingSetting[] {
  return Object.entries(FIXED).flatMap(([setting, read]) => {
    const [running, configured] = [read(started), read(now)];
    if (running === configured) return [];
    return [
      {
        setting,
        ...(running === undefined ? {} : { running }),
        ...(configured === undefined ? {} : { configured }),
      },
    ];
  });
}
