import type { EventLog } from "../admin/event-ring.js";
import { messageOf } from "../lib/errors.js";
import { formatAddress } from "../lib/listening.js";
import { nameWithoutDot } from "../wire/name.js";
import { isAnswerable } from "./endpoints.js";
import type { Subscriber } from "./events.js";
import { overrideView } from "./status-view.js";

/** Subscriber that writes the event log of the admin API, from which its readers are served. */
export function adminEvents(log: EventLog): Subscriber {
  return {
    "health-changed": ({ transition: { fqdn, target, address, from, to, result }, endpoint }) =>
      log.publish({
        type: "health",
        endpoint: fqdn,
        target,
        address,
        from,
        to,
        class: result.class,
        reason: result.reason,
        answered: endpoint !== undefined && isAnswerable(endpoint.answerable, target, address),
      }),
    "answers-changed": ({ endpoint: { config, answerable } }) =>
      log.publish({
        type: "answers",
        endpoint: config.fqdn,
        mode: answerable.mode,
        answers: answerable.addresses.map(({ address }) => address),
      }),
    "override-changed": ({ change: { action, entry, actor } }) => {
      const { endpoint, target, ...override } = entry;
      const shown = action === "set" ? { override: overrideView(override) } : {};
      log.publish({ type: "override", endpoint, target, action, ...actor, ...shown });
    },
    "suppression-changed": ({ change: { fqdn, target, address, isSuppressed, untilMs } }) =>
      log.publish({
        type: "suppression",
        endpoint: fqdn,
        target,
        address,
        suppressed: isSuppressed,
        ...(untilMs === undefined ? {} : { untilMs }),
      }),
    "targets-changed": ({ fqdn, joined, left }) =>
      log.publish({
        type: "targets",
        endpoint: fqdn,
        joined: joined.map(({ id, addresses, origins }) => ({ id, addresses: [...addresses], origins: [...origins] })),
        left: [...left],
      }),
    "source-failed": ({ fqdn, source, failure: { problem } }) =>
      log.publish({ type: "source", endpoint: fqdn, source, problem }),
    "source-recovered": ({ fqdn, source }) => log.publish({ type: "source", endpoint: fqdn, source }),
    "isolation-changed": ({ isolated }) => log.publish({ type: "isolation", isolated }),
    "sibling-changed": ({ sibling, condition }) => log.publish({ type: "sibling", sibling, condition }),
    "sibling-overrides-not-kept": ({ sibling, error }) =>
      log.publish({ type: "sibling-overrides", sibling, kept: false, problem: messageOf(error) }),
    "sibling-overrides-kept": ({ sibling }) => log.publish({ type: "sibling-overrides", sibling, kept: true }),
    ...secondaryEvents(log),
    reloaded: () => log.publish({ type: "reload", ok: true }),
    "reload-refused": () => log.publish({ type: "reload", ok: false }),
    ready: () => log.publish({ type: "ready" }),
  };
}

/** What becomes of secondaries. */
function secondaryEvents(log: EventLog): Subscriber {
  return {
    "secondary-trouble": ({ state: { zone, secondary, trouble, checked, lagMs } }) =>
      log.publish({
        type: "secondary",
        zone: nameWithoutDot(zone),
        secondary: formatAddress(secondary),
        ...(trouble === undefined ? {} : { trouble }),
        ...(checked === undefined ? {} : { serial: checked.serial }),
        lagMs: Math.round(lagMs),
      }),
    // Those of what changed are as frequent as changes, and would leave no room for anything else.
    "transfer-finished": ({ transfer: { zone, client, kind, serial, isComplete } }) => {
      if (kind !== "axfr" && isComplete) return;
      log.publish({
        type: "transfer",
        zone: nameWithoutDot(zone),
        secondary: client,
        kind,
        serial,
        complete: isComplete,
      });
    },
  };
}
