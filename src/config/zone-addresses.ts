import { specialKind } from "./address.js";
import type { Path } from "./positions.js";
import { formatPath, quote } from "./quote.js";
import type { TargetInput } from "./schema-zone.js";
import { problemAt } from "./source.js";
import type { ZoneContext } from "./zone-context.js";

/** An address with the path of where it is written. */
export type PlacedAddress = readonly [path: Path, address: string];

/** The addresses at `path`, which may be one alone or a list. */
export function addressesAt(context: ZoneContext, path: Path, addresses: readonly string[]): PlacedAddress[] {
  const list = context.source.positions.isList(path);
  return addresses.map((address, index) => [list ? [...path, index] : path, address]);
}

export function refuseDuplicates(context: ZoneContext, places: readonly PlacedAddress[]): void {
  const first = new Map<string, Path>();
  for (const [path, address] of places) {
    const other = first.get(address);
    if (other === undefined) {
      first.set(address, path);
      continue;
    }
    context.report(
      problemAt(context.source, path, {
        message: `${formatPath(path)} is ${quote(address)}, which is already at ${formatPath(other)}.`,
        remedy: "Keep one of them.",
        code: "CONFIG_ADDRESS_DUPLICATE",
      }),
    );
  }
}

export function isLongForm(target: TargetInput): target is Exclude<TargetInput, readonly string[]> {
  return !Array.isArray(target);
}

/** The addresses of a target with their places, in its short or long form. */
export function targetAddresses(context: ZoneContext, at: Path, target: TargetInput): PlacedAddress[] {
  if (isLongForm(target)) return addressesAt(context, [...at, "addresses"], target.addresses);
  return addressesAt(context, at, target);
}

/** Reports every address of the zone that no client could use. */
export function refuseSpecial(context: ZoneContext): void {
  const { nameservers, endpoints = {} } = context.valid.value;
  const places: PlacedAddress[] = [];
  for (const [name, addresses] of Object.entries(nameservers)) {
    const list = typeof addresses === "string" ? [addresses] : addresses;
    places.push(...addressesAt(context, ["nameservers", name], list));
  }
  for (const [name, endpoint] of Object.entries(endpoints)) {
    for (const [id, target] of Object.entries(endpoint.targets ?? {})) {
      places.push(...targetAddresses(context, ["endpoints", name, "targets", id], target));
    }
    if (typeof endpoint.whenAllDown === "object") {
      const path = ["endpoints", name, "whenAllDown", "addresses"];
      places.push(...addressesAt(context, path, endpoint.whenAllDown.addresses));
    }
  }
  for (const [path, address] of places) {
    const kind = specialKind(address);
    if (kind === undefined) continue;
    context.report(
      problemAt(context.source, path, {
        message: `${formatPath(path)} is ${quote(address)}: that is ${kind}, which no client could use.`,
        remedy:
          'Write an address that clients reach, or "allowSpecialAddresses: true" at the top of the zone for a test.',
        code: "CONFIG_ADDRESS_SPECIAL",
      }),
    );
  }
}
