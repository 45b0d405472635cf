import type { EndpointHealth } from "../health/health.js";

/** Octets of one character-string of a TXT record (RFC 1035 §3.3). */
const MAX_STRING_OCTETS = 255;

/**
 * What `_status.<endpoint>` says: a string for each address of each target, as of the last change of health:
 *
 * `cp2 192.0.2.12 down since 2026-03-14T09:26:53Z: connection refused`
 *
 * The time is that of the change instead of an age, which would be wrong a second later in every cache.
 */
export function statusStrings({ targets }: EndpointHealth): string[] {
  return targets.flatMap(({ id, override, addresses }) =>
    addresses.map(({ address, health, sinceMs, last }) => {
      const since = new Date(sinceMs).toISOString().replace(/\.\d+Z$/, "Z");
      const said = override === undefined ? "" : ` (${override.kind})`;
      const text = `${id} ${address} ${health}${said} since ${since}: ${last?.reason ?? "not probed yet"}`;
      return text.replace(/[^\x20-\x7e]/g, "?").slice(0, MAX_STRING_OCTETS);
    }),
  );
}
