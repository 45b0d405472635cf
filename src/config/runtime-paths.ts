import { accessSync, constants, readdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { codeOf } from "../lib/errors.js";
import { quote } from "./quote.js";
import { problemAt, type Report, type Source } from "./source.js";

/** Octets of a path in `sockaddr_un` on Linux, without the final zero (unix(7)). A longer one cannot be opened. */
export const MAX_SOCKET_PATH_OCTETS = 107;

/** Reports what is wrong with paths that a server writes to, before it tries: absolute paths, as the main file means them. */
export function checkRuntimePaths(
  source: Source,
  { socket, stateDir }: { readonly socket: string | undefined; readonly stateDir: string | undefined },
  report: Report,
): void {
  const octets = Buffer.byteLength(socket ?? "");
  if (socket !== undefined && octets > MAX_SOCKET_PATH_OCTETS) {
    report(
      problemAt(source, ["admin", "socket"], {
        message: `admin.socket is ${quote(socket)}, a path of ${octets} octets: the system takes at most ${MAX_SOCKET_PATH_OCTETS}.`,
        remedy: "Choose a shorter path, such as /run/livezone/admin.sock.",
        code: "CONFIG_SOCKET_PATH_LONG",
      }),
    );
  }
  const why = stateDir === undefined ? undefined : whyUnwritable(stateDir);
  if (stateDir !== undefined && why !== undefined) {
    report(
      problemAt(source, ["stateDir"], {
        message: `stateDir is ${quote(stateDir)}, where this user cannot write: ${why}. Overrides would be refused and health not kept.`,
        remedy: "Give the folder to the user livezone runs as (systemd: StateDirectory=livezone), or choose another.",
        code: "CONFIG_STATE_DIR_UNWRITABLE",
        severity: "warning",
      }),
    );
  }
}

/** Why a folder cannot be written to, or made where it does not exist; undefined if it can. */
function whyUnwritable(folder: string): string | undefined {
  try {
    if (!statSync(folder).isDirectory()) return `${quote(folder)} is no folder`;
    accessSync(folder, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const parent = dirname(folder);
    if (codeOf(error) === "ENOENT" && parent !== folder) return whyUnwritable(parent);
    return `the system says ${codeOf(error)} for ${quote(folder)}`;
  }
}

/** Why the folder that a pattern starts from cannot be read; undefined if it can, or if there is none. */
export function whyUnreadableFolder(folder: string): string | undefined {
  try {
    readdirSync(folder);
    return undefined;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    const reasons: Readonly<Record<string, string>> = {
      EACCES: "this user has no permission to read it",
      ENOTDIR: "it is no folder",
      ELOOP: "it is a loop of links",
    };
    return reasons[codeOf(error)] ?? `the system says ${codeOf(error)}`;
  }
}
