import { randomBytes } from "node:crypto";
import { systemClock } from "../../src/lib/clock.js";
import type { SiblingHost } from "../../src/siblings/host.js";
import type { Ask, SharedOverride } from "../../src/siblings/messages.js";
import type { PeerCondition } from "../../src/siblings/peer-state.js";
import { Siblings } from "../../src/siblings/siblings.js";
import { afterThisTest } from "../support/cleanup.js";
import { freePort } from "../support/ports.js";
import { runRandom } from "../support/random.js";

/** A server among siblings, with what it was told. */
export interface TestSibling {
  readonly name: string;
  readonly port: number;
  readonly siblings: Siblings;
  readonly taken: SharedOverride[];
  readonly hints: string[];
  readonly conditions: PeerCondition[];
  /** Whether the overrides of siblings could be kept, each time that this changed. */
  readonly kept: boolean[];
  readonly asked: Ask[];
  /** Why it refuses what it is asked; undefined = it does not. */
  refusal: { code: string; message: string } | undefined;
  start(): Promise<void>;
  /** Takes other secrets, as a reload does. */
  configure(secrets: readonly string[]): void;
}

/** An endpoint that every test server serves; its address is up, or in doubt. */
export const UP = { endpoint: "api.k8s.example.test", answers: ["192.0.2.1"], up: ["192.0.2.1"], not: [] };
export const DOUBT = { ...UP, up: [], not: [["192.0.2.1", "doubt"] as [string, "doubt"]] };

/** Servers that are not started yet. @param secrets of each, 32 octets in hex */
export async function testSiblings(
  secrets: readonly (readonly string[])[],
  change: (index: number) => Partial<SiblingHost> = () => ({}),
): Promise<TestSibling[]> {
  const ports = await Promise.all(secrets.map(() => freePort()));
  const names = secrets.map((_, index) => `ns${index + 1}`);
  return secrets.map((own, index) => {
    const test = {
      name: names[index] ?? "",
      port: ports[index] ?? 0,
      taken: [] as SharedOverride[],
      hints: [] as string[],
      conditions: [] as PeerCondition[],
      kept: [] as boolean[],
      asked: [] as Ask[],
      refusal: undefined as TestSibling["refusal"],
    };
    const host: SiblingHost = {
      self: () => ({ isolated: false, late: false, starting: false, sight: "reached", overrides: "" }),
      zones: () => [{ zone: "k8s.example.test", digest: "d", serial: 7 }],
      serials: () => [],
      onSerials: () => {},
      endpoints: () => [UP],
      endpoint: (fqdn) => (fqdn === UP.endpoint ? UP : undefined),
      overrides: () => [],
      onHint: (peer, fqdn, addresses) => test.hints.push(`${peer} ${fqdn} ${addresses.join()}`),
      onViews: () => {},
      onCondition: (_peer, condition) => test.conditions.push(condition),
      async take(_peer, entries) {
        test.taken.push(...entries);
      },
      onKept: (_peer, error) => test.kept.push(error === undefined),
      judge(_peer, ask) {
        test.asked.push(ask);
        return test.refusal;
      },
      release: () => {},
      safe: () => ({ state: "drained", safeInMs: 1_000 }),
      ...change(index),
    };
    const peers = names.flatMap((name, other) =>
      other === index ? [] : [{ name, address: "127.0.0.1", port: ports[other] ?? 0 }],
    );
    const siblings = new Siblings({
      clock: systemClock,
      random: runRandom(index),
      boot: randomBytes(8).toString("hex"),
      settings: {
        name: test.name,
        listen: { address: "127.0.0.1", port: test.port },
        peers,
        secrets: own.map(octetsOf),
      },
      host,
    });
    afterThisTest(() => siblings.stop());
    return Object.assign(test, {
      siblings,
      async start() {
        await siblings.start();
      },
      configure: (secrets: readonly string[]) => siblings.configure({ peers, secrets: secrets.map(octetsOf) }),
    });
  });
}

function octetsOf(secret: string): Uint8Array {
  return Uint8Array.from(Buffer.from(secret, "hex"));
}
