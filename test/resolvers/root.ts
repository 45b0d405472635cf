import type { Cleanup } from "../support/cleanup.js";
import { type SignedZone, startSignedZone } from "../support/signed-zone.js";

/** A signed root zone with its trust anchor. */
export type SignedRoot = SignedZone;

/**
 * Runs Knot as the root of a DNS of its own, signed, that delegates one zone without DS: for resolvers that validate,
 * an insecure delegation as nearly all corporate ones are.
 *
 * @param servers addresses of the zone's name servers `ns1`, `ns2`, …
 */
export function startSignedRoot(
  zone: string,
  servers: readonly string[],
  options: { readonly address: string; readonly cleanup: Cleanup },
): Promise<SignedRoot> {
  const glue = servers.map((address, i) => `${zone}. NS ns${i + 1}.${zone}.\nns${i + 1}.${zone}. A ${address}\n`);
  const records = (address: string): string =>
    `@ SOA a.root. nobody. 1 7200 900 1209600 300\n@ NS a.root.\na.root. A ${address}\n${glue.join("")}`;
  return startSignedZone("", records, { ...options, port: 53 });
}
