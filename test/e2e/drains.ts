import { expect } from "vitest";
import { ENDPOINT, startAdminServer } from "../admin/server.js";
import { startSiblings } from "../app/sibling-servers.js";
import { runLivezone } from "../cli/run.js";
import { type ApiserverTrio, type DrainedRounds, playDrains, startTrio } from "./drain-rounds.js";

/** Probes that notice soon that an apiserver is back. */
const QUICK_PROBE = "{ insecureSkipVerify: true, interval: 300ms, timeout: 300ms, recheck: 100ms }";

/** Runs commands in the folder of a server, so that they find it by its configuration. */
function commandsIn(folder: string) {
  return async (...args: readonly string[]): Promise<void> => {
    const { code, stderr } = await runLivezone(args, { cwd: folder });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  };
}

function expectNoFailure({ failures, opened, used }: DrainedRounds, trio: ApiserverTrio, rounds: number): void {
  expect(failures).toEqual([]);
  expect(opened).toBeGreaterThan(rounds * 20);
  // Each was used while it could be.
  expect([...used].sort()).toEqual([...trio.addresses].sort());
}

/** Drains, stops and starts one of three apiservers after the other: a client behind a resolver loses not one connection. */
export async function drainInTurn(rounds: number): Promise<void> {
  const trio = await startTrio(ENDPOINT);
  const [cp1, cp2, cp3] = trio.addresses;
  const server = await startAdminServer({
    zone: `zone: k8s.example.test
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
endpoints:
  api:
    port: ${trio.port}
    ttl: 1
    targets: { cp1: ${cp1}, cp2: ${cp2}, cp3: ${cp3} }
    probe: ${QUICK_PROBE}
`,
  });
  const livezone = commandsIn(server.livezone.folder);
  const met = await playDrains({ trio, rounds, endpoint: ENDPOINT, dns: [server.dns], livezone });
  expectNoFailure(met, trio, rounds);
}

/** The same behind two servers that are siblings; only the first of them is told. */
export async function drainPairInTurn(rounds: number): Promise<void> {
  const trio = await startTrio(ENDPOINT);
  const targets = trio.addresses.map((address, index) => ({ id: `cp${index + 1}`, address }));
  const { servers, allHeard } = await startSiblings(2, { port: trio.port, targets }, { probe: QUICK_PROBE });
  await allHeard();
  const livezone = commandsIn(servers[0]?.livezone.folder ?? "");
  const met = await playDrains({ trio, rounds, endpoint: ENDPOINT, dns: servers.map(({ dns }) => dns), livezone });
  expectNoFailure(met, trio, rounds);
}
