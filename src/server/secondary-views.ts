import type { MetricsSource } from "../admin/metrics-source.js";
import type { Status } from "../admin/schemas.js";
import { allZones } from "../config/catalog.js";
import { formatAddress } from "../lib/listening.js";
import type { Notifier, SecondaryState } from "../transfer/notifier.js";
import type { FinishedTransfer } from "../transfer/service.js";
import { type Name, nameWithoutDot } from "../wire/name.js";
import type { Subscriber } from "./events.js";

export type SecondaryView = NonNullable<Status["secondaries"]>[number];
type LastTransfer = NonNullable<SecondaryView["transferred"]>;

/** Secondaries as operators see them. */
export class SecondaryViews {
  readonly #notifier: Pick<Notifier, "states">;
  /** The last transfer to each address that is notified of a zone: by zone, and by address. */
  readonly #transfers = new Map<Name, Map<string, LastTransfer>>();

  constructor(notifier: Pick<Notifier, "states">) {
    this.#notifier = notifier;
  }

  /** One entry for each zone and secondary, in the order of the configuration. */
  list(): SecondaryView[] {
    return this.#notifier.states().map((state) => this.view(state));
  }

  /** For the status; nothing where no zone has secondaries. */
  status(): Pick<Status, "secondaries"> {
    const secondaries = this.list();
    return secondaries.length === 0 ? {} : { secondaries };
  }

  view({ zone, secondary, notifiedMs, acknowledged, checked, trouble, lagMs }: SecondaryState): SecondaryView {
    const transferred = this.#transfers.get(zone)?.get(secondary.address);
    return {
      zone: nameWithoutDot(zone),
      address: formatAddress(secondary),
      ...(checked === undefined ? {} : { serial: checked.serial, checkedAtMs: checked.atMs }),
      lagMs: Math.round(lagMs),
      ...(trouble === undefined ? {} : { trouble }),
      ...(notifiedMs === undefined ? {} : { notifiedAtMs: notifiedMs }),
      ...(acknowledged === undefined ? {} : { acknowledged: { ...acknowledged } }),
      ...(transferred === undefined ? {} : { transferred: { ...transferred } }),
    };
  }

  /** For the gauges. */
  *rows(): ReturnType<NonNullable<MetricsSource["secondaries"]>> {
    for (const view of this.list()) {
      const { zone, address, serial, lagMs, trouble, notifiedAtMs, acknowledged, transferred } = view;
      yield {
        zone,
        secondary: address,
        isCurrent: trouble === undefined && serial !== undefined,
        lagMs,
        ...(serial === undefined ? {} : { serial }),
        ...(notifiedAtMs === undefined ? {} : { notifiedAtMs }),
        ...(acknowledged === undefined ? {} : { acknowledgedAtMs: acknowledged.atMs }),
        ...(transferred === undefined ? {} : { transferredAtMs: transferred.atMs }),
      };
    }
  }

  /** Subscriber that takes note of transfers. One to an address that is not notified is not kept: anybody in a range may ask. */
  subscriber(): Subscriber {
    let notified: ReadonlyMap<string, ReadonlySet<string>> = new Map();
    return {
      "zones-replaced": ({ config }) => {
        notified = new Map(
          allZones(config).map(({ zone, transfer }) => [zone, new Set(transfer?.to.map(({ address }) => address))]),
        );
        for (const [zone, transfers] of this.#transfers) {
          const stay = notified.get(nameWithoutDot(zone));
          for (const address of transfers.keys()) if (stay?.has(address) !== true) transfers.delete(address);
        }
      },
      "zone-removed": ({ zone }) => void this.#transfers.delete(zone),
      "transfer-finished": ({ transfer }, atMs) => {
        if (notified.get(nameWithoutDot(transfer.zone))?.has(transfer.client) === true) this.#note(transfer, atMs);
      },
    };
  }

  #note({ zone, client, kind, serial, octets, isComplete }: FinishedTransfer, atMs: number): void {
    const transfers = this.#transfers.get(zone) ?? new Map<string, LastTransfer>();
    transfers.set(client, { atMs, kind, serial, octets, complete: isComplete });
    this.#transfers.set(zone, transfers);
  }
}
