import { ClockSuspicion } from "../health/clock-suspicion.js";
import type { ServerEvents, Subscriber } from "./events.js";
import { watchedAddresses } from "./watched-addresses.js";

/** Subscriber that publishes when this machine's clock becomes suspect, and when it is so no more. */
export function clockSuspecting(events: ServerEvents): Subscriber {
  const suspicion = new ClockSuspicion();
  const tell = (): void => events.publish({ type: "clock-suspected", isSuspected: suspicion.isSuspected });
  return {
    "probe-finished": ({ report: { address, result, targets } }) => {
      let isChanged = false;
      for (const { fqdn, target } of targets) {
        if (suspicion.look(`${fqdn} ${target} ${address}`, result)) isChanged = !isChanged;
      }
      if (isChanged) tell();
    },
    "zones-replaced": ({ config }) => {
      const watched = watchedAddresses(config);
      if (suspicion.forget((key) => watched.has(key))) tell();
    },
  };
}
