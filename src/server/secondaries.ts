import { allZones } from "../config/catalog.js";
import type { Config } from "../config/config.js";
import type { DatagramExchange } from "../transfer/datagrams.js";
import type { Notified, Notifier } from "../transfer/notifier.js";
import { type Name, parseName } from "../wire/name.js";
import type { Subscriber } from "./events.js";

/** Subscriber that has the secondaries of each zone told of its changes, once queries are answered. */
export function notifying(notifier: Notifier, exchange: Pick<DatagramExchange, "setSource">): Subscriber {
  return {
    "zone-added": ({ zone }) => notifier.addZone(zone),
    "zone-removed": ({ zone }) => notifier.removeZone(zone),
    "zone-changed": ({ change }) => notifier.change(change),
    "transfer-finished": ({ transfer }) => notifier.transferred(transfer),
    "zones-replaced": ({ config }) => {
      exchange.setSource(config.listen);
      notifier.configure(notifiedSecondaries(config));
    },
    ready: () => notifier.start(),
  };
}

/** Who is told of the changes of which zone. */
export function notifiedSecondaries(config: Config): ReadonlyMap<Name, Notified> {
  const { catalog } = config.transfer;
  return new Map(
    allZones(config).flatMap((one) => {
      const { zone, transfer } = one;
      if (transfer === undefined || transfer.to.length === 0) return [];
      const secondaries = transfer.to.map(({ address, port, key }) => ({
        address,
        port,
        ...(key === undefined ? {} : { key: parseName(key) }),
      }));
      const { minIntervalMs } = transfer.notify;
      // Not every server reads a catalog.
      const notified = { secondaries, minIntervalMs, ...(one === catalog && { isOptional: true }) };
      return [[parseName(zone), notified] as const];
    }),
  );
}
