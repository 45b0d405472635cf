import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterThisTest, type Cleanup } from "./cleanup.js";
import { askRaw } from "./dns-client.js";
import { encodeQuery } from "./dns-message.js";
import { freePort } from "./ports.js";
import { type RunningProcess, startProcess } from "./processes.js";
import { requireProgram } from "./programs.js";
import type { ServerRecipe } from "./recipes.js";
import { temporaryFolder } from "./temp.js";

/** Where another DNS server is to listen; what all of them have in common. */
export interface ServerOptions {
  /** A loopback address. Default `127.0.0.1`. */
  readonly address?: string;
  /** UDP and TCP. Default: a free one. */
  readonly port?: number;
  readonly cleanup?: Cleanup;
}

/** Another DNS server that runs, with a folder of its own, in the foreground, without chroot or syslog. */
export interface RunningServer extends RunningProcess {
  readonly address: string;
  readonly port: number;
  readonly folder: string;
}

/** Runs a server and returns once it answers queries, whatever the answer. */
export async function startServer(options: ServerOptions, recipe: ServerRecipe): Promise<RunningServer> {
  const program = requireProgram(recipe.program);
  const { address = "127.0.0.1", cleanup = afterThisTest } = options;
  const port = options.port ?? (await freePort(address));
  const folder = temporaryFolder(cleanup);
  const place = { address, port, folder };
  for (const [name, text] of Object.entries(recipe.files(place))) writeFileSync(join(folder, name), text);
  const answers = async () => {
    // A question that every server answers (or refuses) by itself, a resolver too.
    const bytes = encodeQuery({ name: "version.bind", type: "TXT", class: "CH" });
    return (await askRaw({ server: address, port, bytes, timeoutMs: 200 })) !== undefined;
  };
  const running = await startProcess(program, recipe.args(place), { cwd: folder, cleanup, readyWhen: answers });
  return { ...running, ...place };
}
