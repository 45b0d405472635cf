import { expect } from "vitest";
import { type ApiServer, nodeObject, startApiServer } from "../discovery/api-server.js";
import { seededRandom } from "../support/random.js";
import { startDiscovery } from "./discovery-harness.js";

const STEPS = 8;

/** What happens to the API in the middle of everything; resolves when it is over. */
const OUTAGES: Readonly<
  Record<string, (api: ApiServer, pass: (ms: number) => Promise<unknown>, ms: number) => Promise<void>>
> = {
  disconnect: async (api) => api.disconnect(),
  "ended watches": async (api) => api.endWatches(),
  "410 in a watch": async (api) => api.expireWatches(),
  "410 for a watch": async (api) => {
    api.compact();
    api.disconnect();
  },
  gone: async (api, pass, ms) => {
    await api.close();
    await pass(ms);
    api.compact();
    await api.listen();
  },
  "black hole": async (api, pass) => {
    api.isBlackHole = true;
    await pass(120_000);
    api.isBlackHole = false;
    api.disconnect();
  },
  ...Object.fromEntries(
    [{ status: 401 }, { status: 403 }, { status: 429, retryAfter: 5 }, { status: 500 }, { status: 503 }].map(
      (fault) => [
        String(fault.status),
        async (api: ApiServer, pass: (ms: number) => Promise<unknown>, ms: number) => {
          api.fault = fault;
          api.disconnect();
          await pass(ms);
          api.fault = undefined;
        },
      ],
    ),
  ),
};

/** Addresses of one script: nobody listens there but the API, at .1. */
const address = (index: number): string => `127.0.89.${10 + index}`;

/** Joins, leaves and outages, as a seed makes them: after each, answers are what is proposed and passes. */
export async function runScript(seed: number): Promise<void> {
  const random = seededRandom(seed + 1);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const api = await startApiServer("127.0.89.1");
  api.pieceOctets = pick([0, 0, 1, 5, 700]);
  const server = await startDiscovery({ api, endpoint: `    targets: { first: ${address(0)} }\n`, random });
  const { ready, answers, until } = server;
  const nodes = new Map<string, string>();
  ready.add(address(0));
  await until(() => answers().length === 1 && api.watchers === 1);
  const neverEmpty = (): void => expect(answers().length, `seed ${seed}`).toBeGreaterThan(0);
  const pass = (ms: number) => server.pass(ms, { stepMs: 250, each: neverEmpty });
  let next = 1;
  for (let step = 0; step < STEPS; step += 1) {
    const change = async (): Promise<void> => {
      const kind = pick(["join", "join", "join unready", "leave", "crash", "revive"]);
      const known = [...nodes];
      if (kind.startsWith("join")) {
        const index = next++;
        nodes.set(`cp${index}`, address(index));
        api.set(nodeObject(`cp${index}`, address(index)));
        if (kind === "join") ready.add(address(index));
      } else if (known.length > 0) {
        const [name, where] = pick(known);
        if (kind === "revive") ready.add(where);
        else ready.delete(where);
        if (kind === "leave") {
          nodes.delete(name);
          api.delete(name);
        }
      }
    };
    await change();
    if (random() < 0.5) {
      const outage = pick(Object.keys(OUTAGES));
      const before = api.lists;
      await OUTAGES[outage]?.(api, pass, 1_000 + random() * 60_000);
      await change();
      await until(() => api.watchers === 1, { stepMs: 250, each: neverEmpty });
      expect(api.lists - before, `${outage}, seed ${seed}`).toBeLessThanOrEqual(2);
    }
    const wanted = [address(0), ...[...nodes.values()].filter((one) => ready.has(one))].sort();
    await until(() => String(answers()) === String(wanted), { stepMs: 100, most: 3_000, each: neverEmpty });
  }
}
