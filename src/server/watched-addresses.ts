import type { Config } from "../config/config.js";

/** Every address of a configuration, as `fqdn target address`: what is not among them may be forgotten. */
export function watchedAddresses({ zones }: Config): ReadonlySet<string> {
  const watched = new Set<string>();
  for (const { endpoints } of zones) {
    for (const { fqdn, targets } of endpoints) {
      for (const { id, addresses } of targets) for (const address of addresses) watched.add(`${fqdn} ${id} ${address}`);
    }
  }
  return watched;
}
