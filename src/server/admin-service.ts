import { createEventLog } from "../admin/event-log.js";
import { createEventStreams } from "../admin/event-stream.js";
import { openAdminHttp } from "../admin/http.js";
import type { Metrics } from "../admin/metrics.js";
import type { AdminSource } from "../admin/server.js";
import type { Control, EventContent } from "../admin/service.js";
import { type ControlSocket, openAdminSocket } from "../admin/socket.js";
import type { AdminConfig } from "../config/config.js";
import type { Transition } from "../health/health.js";
import type { ProbeReport } from "../health/monitor.js";
import type { OverrideChange } from "../health/overrides.js";
import type { Clock } from "../lib/clock.js";
import type { Listening, SocketAddress } from "../lib/listening.js";
import type { Logger } from "../lib/logger.js";
import { type Followed, isAnswerable } from "./endpoints.js";
import { type ControlParts, createControl, overrideView } from "./operations.js";
import { createProbeHistory } from "./probe-history.js";

/** What operating needs besides the parts that {@link createControl} takes. */
export interface OperatingParts extends Omit<ControlParts, "history" | "lastReload"> {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** The way in for operators: control, events and the listeners they come by. The server tells it what happens. */
export interface Operating {
  readonly control: Control;
  /** A probe has finished. */
  probed(report: ProbeReport): void;
  /** Health has changed, and answers have followed. */
  transitioned(transitions: readonly Transition[]): void;
  /** An endpoint's answers may have changed. */
  followed(followed: Followed): void;
  overridden(change: OverrideChange): void;
  /** A configuration was read, and taken or not. */
  reloaded(ok: boolean): void;
  becameReady(): void;
  isolationChanged(isolated: boolean): void;
  /** Opens what is configured. @throws UserError if something cannot be opened; nothing is open then */
  listen(admin: AdminConfig): Promise<void>;
  /** Where HTTP listens; absent = nowhere. */
  readonly http: SocketAddress | undefined;
  stop(graceMs: number): Promise<void>;
}

export function createOperating(parts: OperatingParts): Operating {
  const { clock, log, metrics, served, version } = parts;
  const startedMs = clock.wallMs();
  const history = createProbeHistory();
  const events = createEventLog(clock, startedMs);
  const streams = createEventStreams(events);
  let lastReload = { atMs: startedMs, ok: true };
  const control = createControl({
    ...parts,
    history,
    lastReload: () => lastReload,
    clearFlaps(endpoint, target) {
      parts.clearFlaps(endpoint, target);
      log.info({ endpoint, target }, "flapping forgiven");
    },
  });
  const source: AdminSource = {
    registry: metrics.registry,
    isReady: parts.isReady,
    control,
    events,
    streams,
    log,
    version,
    requestServed: metrics.adminRequest,
  };
  metrics.watchStreams(streams);
  let http: Listening | undefined;
  let socket: ControlSocket | undefined;

  const publish = (content: EventContent): void => events.publish(content);

  async function stop(graceMs: number): Promise<void> {
    streams.stop();
    await Promise.all([http?.stop(graceMs), socket?.stop()]);
  }

  /** Forgets the results of addresses that are not configured any more. */
  function forget(): void {
    const kept = new Set<string>();
    for (const { config } of served.endpoints.values()) {
      for (const { id, addresses } of config.targets) {
        for (const address of addresses) kept.add(`${config.fqdn} ${id} ${address}`);
      }
    }
    history.prune((endpoint, target, address) => kept.has(`${endpoint} ${target} ${address}`));
  }

  return {
    control,
    probed({ address, result, targets }) {
      const atMs = clock.wallMs();
      for (const { fqdn, target } of targets) history.add(fqdn, target, address, result, atMs);
    },
    transitioned(transitions) {
      for (const { fqdn, target, address, from, to, result } of transitions) {
        const answerable = served.endpoints.get(fqdn)?.answerable;
        publish({
          type: "health",
          endpoint: fqdn,
          target,
          address,
          from,
          to,
          class: result.class,
          reason: result.reason,
          answered: answerable !== undefined && isAnswerable(answerable, target, address),
        });
      }
    },
    followed({ endpoint, before, update }) {
      const { mode, addresses } = endpoint.answerable;
      if (update === undefined && before.mode === mode) return;
      const answers = addresses.map(({ address }) => address);
      publish({ type: "answers", endpoint: endpoint.config.fqdn, mode, answers });
    },
    overridden({ action, entry: { endpoint, target, ...override } }) {
      const shown = action === "set" ? { override: overrideView(override) } : {};
      publish({ type: "override", endpoint, target, ...shown });
    },
    reloaded(ok) {
      lastReload = { atMs: clock.wallMs(), ok };
      if (ok) forget();
      publish({ type: "reload", ok });
    },
    becameReady: () => publish({ type: "ready" }),
    isolationChanged: (isolated) => publish({ type: "isolation", isolated }),
    async listen(admin) {
      try {
        if (admin.socket !== undefined) socket = await openAdminSocket(admin.socket, source);
        if (admin.http !== undefined) {
          http = await openAdminHttp(admin.http, source, {
            ...(admin.tokenFile === undefined ? {} : { tokenFile: admin.tokenFile }),
            hostNames: admin.hostNames,
          });
        }
      } catch (error) {
        await stop(0);
        throw error;
      }
    },
    get http() {
      return http?.address;
    },
    stop,
  };
}
