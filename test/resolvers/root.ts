import { join } from "node:path";
import type { Cleanup } from "../support/cleanup.js";
import { ask } from "../support/dns-client.js";
import { type TrustAnchor, trustAnchor } from "../support/dnssec.js";
import { type RunningServer, startServer } from "../support/servers.js";
import { waitUntil } from "../support/wait.js";

/** A signed root zone with its trust anchor. */
export interface SignedRoot extends RunningServer, TrustAnchor {}

/**
 * Runs Knot as the root of a DNS of its own, signed, that delegates one zone without DS: for resolvers that validate,
 * an insecure delegation as nearly all corporate ones are.
 *
 * @param servers addresses of the zone's name servers `ns1`, `ns2`, …
 */
export async function startSignedRoot(
  zone: string,
  servers: readonly string[],
  options: { readonly address: string; readonly cleanup: Cleanup },
): Promise<SignedRoot> {
  const glue = servers.map((address, i) => `${zone}. NS ns${i + 1}.${zone}.\nns${i + 1}.${zone}. A ${address}\n`);
  const root = await startServer(
    { ...options, port: 53 },
    {
      program: "knotd",
      args: ({ folder }) => ["-c", join(folder, "knot.conf")],
      files: ({ address, port, folder }) => ({
        root: `$ORIGIN .\n$TTL 300\n@ SOA a.root. nobody. 1 7200 900 1209600 300\n@ NS a.root.\na.root. A ${address}\n${glue.join("")}`,
        "knot.conf": `server:
  rundir: "${folder}"
  listen: ${address}@${port}
  udp-workers: 1
  tcp-workers: 1
  background-workers: 1
log:
  - target: stderr
    any: info
database:
  storage: "${folder}"
policy:
  - id: one
    algorithm: ecdsap256sha256
    single-type-signing: on
zone:
  - domain: .
    storage: "${folder}"
    file: root
    zonefile-sync: -1
    dnssec-signing: on
    dnssec-policy: one
`,
      }),
    },
  );
  const to = { server: root.address, port: root.port, name: ".", type: "DNSKEY" };
  const key = await waitUntil(async () => (await ask(to)).answers[0]?.rdata);
  const octets = Buffer.from(key.split(" ").slice(2).join(""), "hex");
  return { ...root, ...trustAnchor(octets, "") };
}
