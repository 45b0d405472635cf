import type { Status } from "../admin/schemas.js";
import { type AdminService, ReloadRefusedError } from "../admin/service.js";
import { isClockSuspect } from "../health/clock-suspicion.js";
import { VERSION } from "../lib/version.js";
import type { AnswerHistory } from "./answer-history.js";
import { recentHistory } from "./history-view.js";
import { type OverrideRequestParts, OverrideRequests } from "./override-requests.js";
import type { ProbeHistory } from "./probe-history.js";
import type { QueryHistory } from "./query-history.js";
import { pendingSettings } from "./restart-only-settings.js";
import type { ServerState } from "./state.js";
import { type DiscoveredOf, targetView, zoneViews } from "./status-view.js";

/** What the service reads and acts on. */
export interface AdminServiceParts extends OverrideRequestParts {
  readonly state: ServerState;
  readonly history: ProbeHistory;
  readonly answerHistory: AnswerHistory;
  readonly queryHistory: QueryHistory;
  readonly discoveredOf: DiscoveredOf;
  isIsolated(): boolean;
  /** What is shown of siblings; absent = there are none. */
  readonly siblings?: () => Pick<Status, "siblings">;
  /** What is shown of secondaries; nothing where there are none. */
  secondaries?(): Pick<Status, "secondaries">;
  /** @returns what is wrong with the configuration, as printed; empty if it was taken */
  reload(): Promise<readonly string[]>;
  /** As {@link AdminService.leave}. */
  leave(threads: number): Promise<number>;
}

/** Makes what the admin API and the commands act on, from the parts of a running server. */
export function createAdminService(parts: AdminServiceParts): AdminService {
  const { clock, state, served, history, snapshot } = parts;
  const requests = new OverrideRequests(parts);
  return {
    version: VERSION,
    isReady: () => state.isReady,
    status: () => ({
      version: VERSION,
      nowMs: clock.wallMs(),
      startedMs: state.startedMs,
      ready: state.isReady,
      isolated: parts.isIsolated(),
      ...parts.siblings?.(),
      ...parts.secondaries?.(),
      ...(isClockSuspect(snapshot()) ? { clockSuspect: true } : {}),
      lastReload: state.lastReload,
      needRestart: pendingSettings(state.started, state.config),
      zones: zoneViews(served, snapshot(), parts.discoveredOf),
    }),
    async target(name) {
      const { endpoint, target } = requests.find(name);
      const isDrained = target.override?.kind === "drained" && target.override.isLocal !== true;
      return {
        ...(isDrained ? await requests.drained(name) : requests.safeAt(name)),
        endpoint: name.endpoint,
        nowMs: clock.wallMs(),
        target: targetView(endpoint, target),
        history: target.addresses.map(({ address }) => ({
          address,
          results: history.of(name.endpoint, name.target, address),
        })),
      };
    },
    history: () => recentHistory(parts),
    drain: (name, order) => requests.drain(name, order),
    undrain: (name, by) => requests.undrain(name, by),
    force: (name, health, order) => requests.force(name, health, order),
    unforce: (name, by) => requests.unforce(name, by),
    unsuppress: (name, by) => requests.unsuppress(name, by),
    leave: parts.leave,
    async reload() {
      const problems = await parts.reload();
      if (problems.length > 0) throw new ReloadRefusedError(problems);
      const needRestart = pendingSettings(state.started, state.config);
      return { zones: served.zones().length, endpoints: served.endpoints.size, needRestart };
    },
  };
}
