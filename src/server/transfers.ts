import { allZones } from "../config/catalog.js";
import type { Config } from "../config/config.js";
import { readTsigSecret } from "../config/tsig-secret.js";
import type { Clock } from "../lib/clock.js";
import { messageOf, UserError } from "../lib/errors.js";
import type { Logger } from "../lib/logger.js";
import type { TransferPolicy, TransferRule } from "../query/transfer-access.js";
import { DatagramExchange } from "../transfer/datagrams.js";
import { Notifier } from "../transfer/notifier.js";
import { TransferService, type ZoneStanding } from "../transfer/service.js";
import { addressOctets } from "../wire/address.js";
import { type Name, parseName } from "../wire/name.js";
import type { TsigKey } from "../wire/tsig.js";
import type { ServerEvents, Subscriber } from "./events.js";

/** What serves and tells secondaries. */
export interface TransferParts {
  readonly transfers: TransferService;
  readonly notifier: Notifier;
  readonly exchange: DatagramExchange;
}

/** Builds what serves and tells secondaries; it follows the events once it is subscribed. */
export function buildTransferParts(options: {
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly events: Pick<ServerEvents, "publish">;
  /** What this server may do for secondaries of a zone; absent: it is the only primary. */
  standingOf?(zone: Name): ZoneStanding;
}): TransferParts {
  const { clock, random, log, events, standingOf = () => "active" } = options;
  const transfers = new TransferService({
    clock,
    standingOf,
    onFinished: (transfer) => events.publish({ type: "transfer-finished", transfer }),
    onError: (error) => log.error({ error: messageOf(error) }, "transfer failed"),
  });
  const exchange = new DatagramExchange(clock);
  const notifier = new Notifier({
    clock,
    random,
    send: (to, message, take) => exchange.send(to, message, take),
    keyOf: (name) => transfers.keyOf(name),
    isQuiet: (zone) => standingOf(zone) !== "active",
    onTrouble: (state, isInTrouble) => events.publish({ type: "secondary-trouble", state, isInTrouble }),
  });
  return { transfers, notifier, exchange };
}

/** Tells secondaries nothing any more. */
export function stopNotifying({ notifier, exchange }: Pick<TransferParts, "notifier" | "exchange">): void {
  notifier.stop();
  exchange.close();
}

/** Subscriber that keeps the journals of the zones that may be transferred. */
export function zoneJournals(service: TransferService): Subscriber {
  return {
    "zone-added": ({ zone }) => service.addZone(zone),
    "zone-removed": ({ zone }) => service.removeZone(zone),
    "zone-changed": ({ change }) => service.change(change),
    "zones-replaced": ({ config }) => service.setVersions(keptVersions(config)),
  };
}

function keptVersions(config: Config): ReadonlyMap<Name, number> {
  return new Map(
    allZones(config).flatMap(({ zone, transfer }) =>
      transfer === undefined ? [] : [[parseName(zone), transfer.versions]],
    ),
  );
}

/**
 * Who may transfer what, and with which keys; undefined where a configuration knows neither.
 *
 * @throws UserError if a secret has become unreadable since the configuration was read
 */
export function readTransferPolicy(config: Config): TransferPolicy | undefined {
  const keys = new Map(
    config.transfer.keys.map(({ name, algorithm, secretFile }): [Name, TsigKey] => {
      const key = parseName(name);
      return [key, { name: key, algorithm, secret: secretIn(secretFile) }];
    }),
  );
  const rules = new Map(
    allZones(config).flatMap(({ zone, transfer: own }) =>
      own === undefined ? [] : [[parseName(zone), rulesOf(own)] as const],
    ),
  );
  return keys.size + rules.size === 0 ? undefined : { keys, zones: rules };
}

function rulesOf({ to, allow }: NonNullable<Config["zones"][number]["transfer"]>): TransferRule[] {
  const secondaries = to.map(({ address, key }) => {
    const octets = addressOctets(address);
    return { octets, bits: octets.length * 8, ...keyOf(key) };
  });
  const others = allow.map(({ from, key }) => ({
    octets: addressOctets(from.address),
    bits: from.bits,
    ...keyOf(key),
  }));
  return [...secondaries, ...others];
}

function keyOf(key: string | undefined): { readonly key?: Name } {
  return key === undefined ? {} : { key: parseName(key) };
}

function secretIn(file: string): Uint8Array {
  const read = readTsigSecret(file);
  if ("why" in read) throw new UserError(`the TSIG secret in ${file} cannot be used: ${read.why}`, "TSIG_SECRET");
  return read.secret;
}
