import type { Config } from "../config/config.js";

/** What changes in the life of a server and several of its parts read. */
export interface ServerState {
  /** When the server started, wall clock, milliseconds since 1970. */
  readonly startedMs: number;
  /** The configuration that the process started with. */
  readonly started: Config;
  /** The configuration in force. */
  config: Config;
  /** Whether queries are answered. */
  isReady: boolean;
  /** Whether the server ends or leaves its port to a successor: nothing new is begun. */
  isStopping: boolean;
  /** Whether the port has been left to a successor: the state folder is its own. */
  hasLeft?: boolean;
  /** Whether a start has yet to open the sockets for DNS: a reload leaves that to it. */
  listensLater: boolean;
  /** When a configuration was last read, wall clock, milliseconds since 1970, and whether it was taken. */
  lastReload: { readonly atMs: number; readonly ok: boolean };
}
