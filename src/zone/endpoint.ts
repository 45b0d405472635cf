import type { EndpointConfig } from "../config/config.js";
import { MAX_LABEL_OCTETS, MAX_NAME_OCTETS, TYPE } from "../wire/constants.js";
import { formatName, lowerName, type Name, parseName, prependLabels } from "../wire/name.js";
import { cutAbove } from "./existing-names.js";
import type { Zone, ZoneEndpoint } from "./zone.js";

/** An endpoint of the zone `apex` with the names that come of its configuration. */
export function createZoneEndpoint(config: EndpointConfig, apex: Name): ZoneEndpoint {
  const name = lowerName(parseName(config.name, apex));
  return {
    config,
    fqdn: config.fqdn,
    name,
    serviceName: prependLabels(["_https", "_tcp"], name),
    ...(config.statusRecord ? { statusName: prependLabels(["_status"], name) } : {}),
    targets: config.targets.map(({ id }) => ({ id, name: prependLabels([id], name) })),
  };
}

/** Every name that follows the health of an endpoint, with the types that do. */
export function ownedNames(endpoint: ZoneEndpoint): { readonly name: Name; readonly types: readonly number[] }[] {
  const { name, serviceName, statusName, targets } = endpoint;
  return [
    { name, types: ADDRESSES },
    { name: serviceName, types: [TYPE.SRV] },
    ...(statusName === undefined ? [] : [{ name: statusName, types: [TYPE.TXT] }]),
    ...targets.map((target) => ({ name: target.name, types: ADDRESSES })),
  ];
}

const ADDRESSES: readonly number[] = [TYPE.A, TYPE.AAAA];

/** Why a target cannot join an endpoint at run time; `undefined` = it can. */
export function targetConflict(zone: Zone, endpoint: ZoneEndpoint, id: string): string | undefined {
  if (!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(id) || id.length > MAX_LABEL_OCTETS) {
    return `${JSON.stringify(id)} is not a host name of one label in lower case`;
  }
  if (endpoint.name.length + 1 + id.length > MAX_NAME_OCTETS) return `the name of ${id} would be too long`;
  const name = prependLabels([id], endpoint.name);
  const text = formatName(name);
  const cut = cutAbove(name, zone.cuts);
  if (cut !== undefined) return `${text} lies in ${formatName(cut)}, which is delegated to other servers`;
  const types = zone.records.get(name);
  for (const type of [TYPE.CNAME, ...ADDRESSES]) if (types?.has(type)) return `${text} has a record of its own`;
  const other = zone.endpoints.find((one) => one.fqdn !== endpoint.fqdn && one.name === name);
  return other === undefined ? undefined : `${text} is the endpoint ${other.fqdn}`;
}
