import type { CompiledZones } from "../answers/compiled-zones.js";
import type { WorkerPool } from "../transport/worker-pool.js";
import type { Name } from "../wire/name.js";
import type { Subscriber } from "./events.js";

/**
 * Subscriber that brings every change of the zones to the threads that answer: at the end of this turn of the event loop,
 * so that what changed several times is compiled and sent once.
 */
export function tableDistribution(
  pool: Pick<WorkerPool, "loadZones" | "changeZone">,
  tables: CompiledZones,
): Subscriber {
  const added = new Set<Name>();
  let isPlanned = false;
  const plan = (): void => {
    if (!isPlanned) queueMicrotask(distribute);
    isPlanned = true;
  };
  const distribute = (): void => {
    isPlanned = false;
    pool.loadZones([...added]);
    added.clear();
    for (const message of tables.takeChanges()) pool.changeZone(message);
  };
  return {
    "zone-added": ({ zone }) => {
      tables.add(zone);
      added.add(zone.zone.name);
      plan();
    },
    "zone-removed": ({ zone }) => {
      tables.remove(zone);
      // Behind the zones that come in its place.
      distribute();
      pool.changeZone({ kind: "zone-removed", zone });
    },
    "zone-changed": ({ change }) => {
      tables.change(change);
      plan();
    },
  };
}
