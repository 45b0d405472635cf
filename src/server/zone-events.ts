import type { ZoneWatcher } from "./endpoints.js";
import type { ServerEvents } from "./events.js";

/** Publishes what becomes of the zones. */
export function zoneEvents(events: ServerEvents): ZoneWatcher {
  return {
    onZoneAdded: (zone) => events.publish({ type: "zone-added", zone }),
    onZoneRemoved: (zone) => events.publish({ type: "zone-removed", zone }),
    onChange: (change) => events.publish({ type: "zone-changed", change }),
  };
}
