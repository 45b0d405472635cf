import { chmodSync, lstatSync, mkdirSync, type Stats, unlinkSync } from "node:fs";
import { connect } from "node:net";
import { dirname } from "node:path";
import { MAX_SOCKET_PATH_OCTETS } from "../config/runtime-paths.js";
import { codeOf, messageOf, UserError } from "../lib/errors.js";
import { type AdminSource, createAdminServer } from "./server.js";

/** Owner and group may connect (which takes the permission to write), others may not. */
const MODE = 0o660;

/** Milliseconds a living server has to accept a connection. */
const PROBE_MS = 1_000;

/** The control socket, listening. */
export interface ControlSocket {
  readonly path: string;
  /** Closes it and removes its file. */
  stop(): Promise<void>;
}

/**
 * Opens the control socket. A socket file that a dead process left is replaced; one that somebody answers on, and a
 * file of any other kind, are left alone.
 *
 * @throws UserError if it cannot be opened
 */
export async function openAdminSocket(path: string, source: AdminSource): Promise<ControlSocket> {
  await makeRoom(path);
  const server = await createAdminServer(source, { entry: "socket" });
  try {
    await new Promise<void>((resolve, reject) => {
      server.server.once("error", reject);
      // The file is made with its permissions at once: there is no moment in which others could connect.
      const before = process.umask(0o777 & ~MODE);
      try {
        server.server.listen({ path }, () => {
          server.server.off("error", reject);
          resolve();
        });
      } finally {
        process.umask(before);
      }
    });
    chmodSync(path, MODE);
  } catch (error) {
    await server.close();
    throw cannot(path, error);
  }
  return {
    path,
    async stop() {
      // Fastify closes only what it opened itself; closing removes the file.
      const closed = new Promise<void>((resolve) => {
        server.server.close(() => resolve());
      });
      server.server.closeAllConnections();
      await closed;
      await server.close();
    },
  };
}

async function makeRoom(path: string): Promise<void> {
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH_OCTETS) {
    throw new UserError(
      `cannot open the control socket ${path}: a socket's path has at most ${MAX_SOCKET_PATH_OCTETS} octets; choose a shorter admin.socket`,
      "ADMIN_SOCKET_PATH",
    );
  }
  const there = statOf(path);
  if (there === undefined) return;
  if (!there.isSocket()) {
    throw new UserError(
      `cannot open the control socket ${path}: a file that is no socket is there; remove it, or choose another admin.socket`,
      "ADMIN_SOCKET_OCCUPIED",
    );
  }
  if (await isAlive(path)) {
    throw new UserError(
      `cannot open the control socket ${path}: another server answers there; stop that, or choose another admin.socket`,
      "ADMIN_SOCKET_IN_USE",
    );
  }
  try {
    unlinkSync(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw cannot(path, error);
  }
}

/** The file that is there; its folder is made if that alone is missing. */
function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw cannot(path, error);
  }
  try {
    mkdirSync(dirname(path), { mode: 0o755 });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw cannot(path, error);
  }
  return undefined;
}

/** Whether a process accepts connections there. */
function isAlive(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path });
    const done = (alive: boolean) => {
      socket.destroy();
      resolve(alive);
    };
    // One whose queue of connections is full is alive too.
    socket.setTimeout(PROBE_MS, () => done(true));
    socket.once("connect", () => done(true));
    socket.once("error", (error) => {
      if (codeOf(error) === "ECONNREFUSED" || codeOf(error) === "ENOENT") done(false);
      else if (codeOf(error) === "EAGAIN") done(true);
      else reject(cannot(path, error));
    });
  });
}

function cannot(path: string, error: unknown): UserError {
  const reasons: Readonly<Record<string, string>> = {
    EACCES: `no permission to write in ${dirname(path)}; give that folder to the user livezone runs as (systemd: RuntimeDirectory=livezone)`,
    EPERM: `no permission to write in ${dirname(path)}; give that folder to the user livezone runs as`,
    EROFS: `${dirname(path)} is on a read-only file system; choose another admin.socket`,
    ENOENT: `the folder ${dirname(path)} does not exist; make it, or choose another admin.socket`,
    ENOTDIR: `${dirname(path)} is no folder; choose another admin.socket`,
    EADDRINUSE: "another server has just opened it; stop that, or choose another admin.socket",
  };
  const why = reasons[codeOf(error)] ?? messageOf(error);
  return new UserError(`cannot open the control socket ${path}: ${why}`, "ADMIN_SOCKET_FAILED", { cause: error });
}
