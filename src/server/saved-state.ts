import type { OverrideEntry } from "../health/overrides.js";
import { type KeptState, openKeptState } from "../health/persisted-state.js";
import type { StateFile } from "../health/state-file.js";
import type { Clock } from "../lib/clock.js";
import { type DiscoveredState, openDiscoveredState } from "./discovery-state.js";
import type { ServerEvents } from "./events.js";
import { type KnownBefore, knownBefore } from "./persistence.js";

/** The state folder and what was in it. */
export interface SavedState {
  /** Absent without `stateDir`. */
  readonly files?: KeptState;
  readonly known: KnownBefore;
  readonly overrides: readonly OverrideEntry[];
  readonly discovered: { readonly initial: DiscoveredState; readonly file?: StateFile<DiscoveredState> };
}

/** Reads what the process before has left. @param folder absent = nothing is kept */
export async function readSavedState(
  folder: string | undefined,
  clock: Clock,
  events: ServerEvents,
): Promise<SavedState> {
  if (folder === undefined)
    return { known: knownBefore(undefined, clock.wallMs()), overrides: [], discovered: { initial: [] } };
  const onAlarm = (alarm: Parameters<Parameters<typeof openKeptState>[0]["onAlarm"]>[0]): void =>
    events.publish({ type: "state-alarm", alarm });
  const files = openKeptState({ folder, clock, onAlarm });
  const known = knownBefore(await files.last.read(), clock.wallMs());
  const file = openDiscoveredState({ folder, clock, onAlarm });
  const discovered = { initial: (await file.read()) ?? [], file };
  return { files, known, overrides: (await files.overrides.read()) ?? [], discovered };
}
