/**
 * The part of a server that hears siblings, alone, with a clock that runs so fast that nothing is read more slowly for being
 * too much: so that a million messages are taken within a minute. Tells its parent how many, and how much memory it has.
 *
 *     node bench/sibling-junk-receiver.mjs SECRET
 */
const { Siblings } = await import("../dist/siblings/siblings.js");
const { systemClock } = await import("../dist/lib/clock.js");

const FASTER = 10_000;
const ENDPOINT = { endpoint: "api.k8s.example.test", answers: [], up: ["10.77.100.1"], not: [] };
let heard = 0;
const count = () => {
  heard += 1;
};

const siblings = new Siblings({
  clock: { ...systemClock, monotonicMs: () => systemClock.monotonicMs() * FASTER },
  random: Math.random,
  boot: "the boot of a receiver",
  settings: {
    name: "ns1",
    listen: { address: "127.0.0.1", port: 9854 },
    peers: [{ name: "ns2", address: "127.0.0.1", port: 9 }],
    secrets: [Uint8Array.from(Buffer.from(process.argv[2], "hex"))],
  },
  host: {
    self: () => ({ isolated: false, late: false, starting: false, sight: "reached", overrides: "" }),
    zones: () => [],
    serials: () => [],
    onSerials: count,
    endpoints: () => [ENDPOINT],
    // Asked for each endpoint of which a sibling tells.
    endpoint: (name) => {
      count();
      return name === ENDPOINT.endpoint ? ENDPOINT : undefined;
    },
    overrides: () => [],
    onHint: () => {},
    onViews: () => {},
    onCondition: () => {},
    take: async () => count(),
    onKept: () => {},
    judge: () => void count(),
    release: count,
    safe: () => {
      count();
      return { state: "unknown" };
    },
  },
});
await siblings.start();
process.on("message", () => process.send({ heard, megabytes: process.memoryUsage().rss / 1e6 }));
process.on("disconnect", () => process.exit(0));
process.send("ready");
