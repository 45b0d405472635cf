import { join } from "node:path";
import { ask } from "./dns-client.js";
import { type TrustAnchor, trustAnchor } from "./dnssec.js";
import type { ServerRecipe } from "./recipes.js";
import { type RunningServer, type ServerOptions, startServer } from "./servers.js";
import { waitUntil } from "./wait.js";

/** A server with one signed zone. */
export interface SignedZone extends RunningServer, TrustAnchor {}

/**
 * Runs Knot with one zone that it signs with one key, and waits until the key can be asked for.
 *
 * @param name without the trailing dot; empty for the root
 * @param records of the zone below its $ORIGIN and $TTL, as master-file text, for the address that Knot is given
 */
export async function startSignedZone(
  name: string,
  records: (address: string) => string,
  options: ServerOptions,
): Promise<SignedZone> {
  const recipe: ServerRecipe = {
    program: "knotd",
    args: ({ folder }) => ["-c", join(folder, "knot.conf")],
    files: ({ address, port, folder }) => ({
      zone: `$ORIGIN ${name}.\n$TTL 300\n${records(address)}`,
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
  - domain: ${name}.
    storage: "${folder}"
    file: zone
    zonefile-sync: -1
    dnssec-signing: on
    dnssec-policy: one
`,
    }),
  };
  const server = await startServer(options, recipe);
  const to = { server: server.address, port: server.port, name: name === "" ? "." : name, type: "DNSKEY" };
  const key = await waitUntil(async () => (await ask(to)).answers[0]?.rdata);
  const octets = Buffer.from(key.split(" ").slice(2).join(""), "hex");
  return { ...server, ...trustAnchor(octets, name) };
}
