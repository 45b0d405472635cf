import { openAdminHttp } from "../admin/http.js";
import type { AdminSource } from "../admin/server.js";
import { type ControlSocket, openAdminSocket } from "../admin/socket.js";
import type { AdminConfig } from "../config/config.js";
import { type Clock, pause } from "../lib/clock.js";
import { messageOf } from "../lib/errors.js";
import type { Listening, SocketAddress } from "../lib/listening.js";

/** Milliseconds between tries to open the listeners: at first, and later on. */
const RETRY_QUICK_MS = 50;
const RETRY_MS = 2_000;

/** The control socket and the HTTP listener of the admin API. */
export class AdminListeners {
  readonly #source: AdminSource;
  readonly #clock: Clock;
  #socket: ControlSocket | undefined;
  #http: Listening | undefined;
  #isStopped = false;

  constructor(source: AdminSource, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
  }

  /** Where HTTP listens; absent = nowhere. */
  get http(): SocketAddress | undefined {
    return this.#http?.address;
  }

  /** Opens what is configured. @throws UserError if something cannot be opened; nothing is open then */
  async open({ socket, http, tokenFile, hostNames }: AdminConfig): Promise<void> {
    try {
      if (socket !== undefined) this.#socket = await openAdminSocket(socket, this.#source);
      if (http !== undefined) {
        const rules = { ...(tokenFile === undefined ? {} : { tokenFile }), hostNames };
        this.#http = await openAdminHttp(http, this.#source, rules);
      }
    } catch (error) {
      await this.#close(0);
      throw error;
    }
  }

  /**
   * Opens what is configured as soon as it can be opened. Tries quickly for `quicklyMs` milliseconds; then says so in the log,
   * resolves, and goes on slowly.
   */
  async openPatiently(admin: AdminConfig, quicklyMs: number): Promise<void> {
    const loudMs = this.#clock.monotonicMs() + quicklyMs;
    while (!this.#isStopped) {
      try {
        return await this.open(admin);
      } catch (error) {
        if (this.#clock.monotonicMs() >= loudMs) {
          this.#source.log.error({ error: messageOf(error) }, "admin listener not open, trying again");
          this.#clock.after(RETRY_MS, () => void this.openPatiently(admin, 0));
          return;
        }
        await pause(this.#clock, RETRY_QUICK_MS);
      }
    }
  }

  /** Ends every stream of events and closes the listeners. Final. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    this.#source.streams.stop();
    await this.#close(graceMs);
  }

  async #close(graceMs: number): Promise<void> {
    const [http, socket] = [this.#http, this.#socket];
    this.#http = undefined;
    this.#socket = undefined;
    await Promise.all([http?.stop(graceMs), socket?.stop()]);
  }
}
