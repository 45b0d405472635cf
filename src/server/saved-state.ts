import type { OverrideRecord } from "../health/override-records.js";
import { type KeptState, openKeptState } from "../health/persisted-state.js";
import type { StateFile } from "../health/state-file.js";
import type { Clock } from "../lib/clock.js";
import { laterSerial } from "../zone/serial.js";
import { type DiscoveredState, openDiscoveredState } from "./discovery-state.js";
import type { ServerEvents } from "./events.js";
import { type KnownBefore, knownBefore } from "./persistence.js";
import { openReservedSerials, SerialReservations } from "./serial-reservations.js";

/** The state folder and what was in it. */
export interface SavedState {
  /** Absent without `stateDir`. */
  readonly files?: KeptState;
  readonly known: KnownBefore;
  readonly serials: SerialReservations;
  readonly discovered: { readonly initial: DiscoveredState; readonly file?: StateFile<DiscoveredState> };
  readonly overrides: readonly OverrideRecord[];
}

/** Reads what the process before has left. @param folder absent = nothing is kept */
export async function readSavedState(
  folder: string | undefined,
  clock: Clock,
  events: ServerEvents,
): Promise<SavedState> {
  const onError = (error: unknown): void => events.publish({ type: "state-not-saved", error });
  if (folder === undefined) {
    const serials = new SerialReservations({ clock, onError });
    const known = withFloors(knownBefore(undefined, clock.wallMs()), serials);
    return { known, overrides: [], serials, discovered: { initial: [] } };
  }
  const onAlarm = (alarm: Parameters<Parameters<typeof openKeptState>[0]["onAlarm"]>[0]): void =>
    events.publish({ type: "state-alarm", alarm });
  const files = openKeptState({ folder, clock, onAlarm });
  const reserved = openReservedSerials({ folder, clock, onAlarm });
  const serials = new SerialReservations({ clock, file: reserved, initial: (await reserved.read()) ?? {}, onError });
  const known = withFloors(knownBefore(await files.last.read(), clock.wallMs()), serials);
  const file = openDiscoveredState({ folder, clock, onAlarm });
  const discovered = { initial: (await file.read()) ?? [], file };
  return { files, known, overrides: (await files.overrides.read()) ?? [], serials, discovered };
}

/** What was known, serials that were reserved and not told of any more included. */
function withFloors(known: KnownBefore, serials: SerialReservations): KnownBefore {
  return {
    ...known,
    serial(zone) {
      const [reserved, published] = [serials.floor(zone), known.serial(zone)];
      return reserved === undefined || published === undefined
        ? (reserved ?? published)
        : laterSerial(reserved, published);
    },
  };
}
