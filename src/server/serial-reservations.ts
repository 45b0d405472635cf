import { z } from "zod";
import { openStateFile, type StateAlarm, type StateFile } from "../health/state-file.js";
import type { Clock, Timer } from "../lib/clock.js";
import { type Name, nameWithoutDot } from "../wire/name.js";
import { isSerialNewer, laterSerial, serialAfter, serialAt } from "../zone/serial.js";
import type { Subscriber } from "./events.js";

/** Serials that are reserved ahead of the one in use. A zone that changes every second uses them up in 20 minutes. */
export const RESERVED_AHEAD = 1_200;

/** They are reserved anew when fewer than this are left: well before the last, since a disk may be slow. */
const RESERVED_LEAST = RESERVED_AHEAD / 2;

/** The clock goes on without any change, and the next serial follows it: looked at so often, milliseconds. */
const LOOK_EVERY_MS = 60_000;

const SERIALS_VERSION = 1;

/** By zone, without the trailing dot: the highest serial that may have been published. */
const reservedSerials = z.record(z.string().min(1), z.int().min(0).max(0xffff_ffff));

export type ReservedSerials = z.output<typeof reservedSerials>;

/** The file with the serials that are reserved. @param options.folder absolute; made with the first write */
export function openReservedSerials(options: {
  readonly folder: string;
  readonly clock: Clock;
  onAlarm(alarm: StateAlarm): void;
}): StateFile<ReservedSerials> {
  return openStateFile({ ...options, name: "serials.json", version: SERIALS_VERSION, content: reservedSerials });
}

export interface SerialReservationsOptions {
  readonly clock: Clock;
  /** Absent = nothing outlives the process. */
  readonly file?: Pick<StateFile<ReservedSerials>, "write">;
  /** What the process before had reserved. */
  readonly initial?: ReservedSerials;
  onError(error: unknown): void;
}

/** A zone as far as its serial matters. */
interface Numbered {
  readonly zone: { readonly name: Name };
  readonly serial: number;
}

/**
 * Lets serials only increase, whatever happens to the process or to the clock: those that are about to be used are written to disk
 * before, and the next process begins behind them. A secondary that had a higher serial would never follow again.
 */
export class SerialReservations {
  private readonly reserved: Map<string, number>;
  private readonly zones = new Map<Name, Numbered>();
  private timer: Timer | undefined;
  private saving: Promise<void> = Promise.resolve();
  private isStopped = false;
  /** Whether the last writing failed: it is tried again at the next look. */
  private isUnsaved = false;

  constructor(private readonly options: SerialReservationsOptions) {
    this.reserved = new Map(Object.entries(options.initial ?? {}));
  }

  /** The serial behind which a zone that is served anew must begin. @param zone without the trailing dot */
  floor(zone: string): number | undefined {
    return this.reserved.get(zone);
  }

  /** Subscriber that reserves for each zone that is served; those of a zone that is gone stay reserved. */
  subscriber(): Subscriber {
    return {
      "zone-added": ({ zone }) => {
        this.zones.set(zone.zone.name, zone);
        this.reserve([zone]);
      },
      "zone-removed": ({ zone }) => void this.zones.delete(zone),
      "zone-changed": ({ change }) => {
        const zone = this.zones.get(change.zone);
        if (zone !== undefined) this.reserve([zone]);
      },
      // A predecessor may have written until now.
      ready: () => {
        this.save();
        this.look();
      },
    };
  }

  /** Resolves when what is reserved now is on disk, or could not be written. */
  saved(): Promise<void> {
    return this.saving;
  }

  /** Gives back what was not used, so that a restart does not leap ahead. @param hasLeft the file belongs to a successor */
  async stop(hasLeft: boolean): Promise<void> {
    this.isStopped = true;
    this.timer?.cancel();
    if (!hasLeft) {
      for (const { zone, serial } of this.zones.values()) this.reserved.set(nameWithoutDot(zone.name), serial);
      this.save();
    }
    await this.saving;
  }

  private look(): void {
    if (this.isStopped) return;
    if (this.isUnsaved) this.save();
    this.reserve([...this.zones.values()]);
    this.timer?.cancel();
    this.timer = this.options.clock.after(LOOK_EVERY_MS, () => this.look());
  }

  private reserve(zones: readonly Numbered[]): void {
    if (this.isStopped) return;
    const now = serialAt(this.options.clock.wallMs());
    const due = zones.filter(({ zone, serial }) => {
      const reserved = this.reserved.get(nameWithoutDot(zone.name));
      return reserved === undefined || !isSerialNewer(reserved, serialAfter(laterSerial(serial, now), RESERVED_LEAST));
    });
    for (const { zone, serial } of due) {
      this.reserved.set(nameWithoutDot(zone.name), serialAfter(laterSerial(serial, now), RESERVED_AHEAD));
    }
    if (due.length > 0) this.save();
  }

  private save(): void {
    const { file, onError } = this.options;
    if (file === undefined) return;
    this.isUnsaved = false;
    this.saving = file.write(Object.fromEntries(this.reserved)).catch((error) => {
      this.isUnsaved = true;
      onError(error);
    });
  }
}
