import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { ServerEvents } from "../../src/server/events.js";
import { Primaries, TAKE_OVER_AFTER_MS } from "../../src/server/primaries.js";
import type { SiblingSerial } from "../../src/siblings/messages.js";
import { contentDigest } from "../../src/transfer/content-digest.js";
import { presentRecords, ZoneJournal } from "../../src/transfer/journal.js";
import type { LiveZone } from "../../src/zone/live-zone.js";
import { isSerialNewer } from "../../src/zone/serial.js";
import type { Zone } from "../../src/zone/zone.js";
import { answering } from "../answers/serve.js";
import { createFakeClock, type FakeClock } from "../support/fake-clock.js";
import { pick, runRandom } from "../support/random.js";
import { AT, configured, line, liveZone } from "../transfer/zones.js";

const FQDN = "api.k8s.example.test";
const TARGETS = ["cp1", "cp2", "cp3", "cp4"] as const;
const ADDRESSES = { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"], cp3: ["192.0.2.13"], cp4: ["192.0.2.14"] };

/** Siblings keep counting for so long without a word, as in peer-state.ts. */
const FRESH_MS = 2_000;

/** A zone as one of several siblings has it: it may be transferred, and has its share of serials. */
function sharedZone(remainder: number, modulus: number): Zone {
  const zone = configured();
  const transfer = { to: [], allow: [], notify: { minIntervalMs: 200 }, versions: 100 };
  return {
    ...zone,
    config: { ...zone.config, transfer, soa: { ...zone.config.soa, serialModulo: { remainder, modulus } } },
  };
}

/** Servers that hear each other or not, and their zone. */
class World {
  readonly servers: readonly Server[];
  /** Pairs of names that do not hear each other, and since when. */
  readonly cut = new Map<string, number>();

  constructor(
    readonly clock: FakeClock,
    names: readonly string[],
    readonly random: () => number,
  ) {
    this.servers = names.map((name, index) => new Server(this, name, index, names.length));
    for (const server of this.servers) server.begin();
  }

  key(some: string, other: string): string {
    return [some, other].sort().join(" ");
  }

  hears(some: string, other: string): boolean {
    const since = this.cut.get(this.key(some, other));
    return since === undefined || this.clock.monotonicMs() - since < FRESH_MS;
  }

  /** Lets two servers hear each other from now on, or not. */
  link(some: Server, other: Server, isUp: boolean): void {
    const key = this.key(some.name, other.name);
    if (isUp === !this.cut.has(key)) return;
    if (isUp) {
      this.cut.delete(key);
      for (const [from, to] of [
        [some, other],
        [other, some],
      ] as const) {
        this.deliver(from, to, from.primaries.serials());
      }
    } else this.cut.set(key, this.clock.monotonicMs());
    for (const afterMs of [0, FRESH_MS]) {
      this.clock.after(afterMs, () => {
        some.primaries.look();
        other.primaries.look();
      });
    }
  }

  deliver(from: Server, to: Server, serials: readonly SiblingSerial[]): void {
    if (from === to || this.cut.has(this.key(from.name, to.name))) return;
    this.clock.after(20, () => {
      if (!this.cut.has(this.key(from.name, to.name))) to.primaries.heard(from.name, serials);
    });
  }
}

class Server {
  readonly live: LiveZone;
  readonly journal: ZoneJournal;
  readonly primaries: Primaries;
  isFit = true;
  private readonly events: ServerEvents;

  constructor(
    private readonly world: World,
    readonly name: string,
    index: number,
    count: number,
  ) {
    this.live = liveZone(sharedZone(index, count));
    this.journal = new ZoneJournal(this.live, { versions: 100, changes: 1_000 });
    this.events = new ServerEvents(world.clock, pino({ level: "silent" }));
    this.primaries = new Primaries({
      clock: world.clock,
      name,
      fresh: () =>
        world.servers
          .filter((other) => other !== this && other.isFit && world.hears(name, other.name))
          .map((other) => other.name),
      isFit: () => this.isFit,
      tell: (serials) => {
        for (const other of world.servers) world.deliver(this, other, serials);
      },
      publish: (change) => this.events.publish({ type: "zone-changed", change }),
      forget: () => this.journal.clear(),
    });
    this.events.subscribe("journals", { "zone-changed": ({ change }) => this.journal.record(change) });
    this.events.subscribe("primaries", this.primaries.subscriber());
  }

  begin(): void {
    this.events.publish({ type: "zone-added", zone: this.live });
    // Nothing of the configuration matters but that it is in force.
    this.events.publish({ type: "zones-replaced", config: {} as never });
  }

  answer(up: readonly (keyof typeof ADDRESSES)[]): void {
    const endpoint = this.live.endpoint(FQDN);
    if (endpoint === undefined) throw new Error("no endpoint");
    const answers = answering(Object.fromEntries(up.map((id) => [id, ADDRESSES[id]])));
    const change = this.live.setEndpoint(endpoint, answers, this.world.clock.wallMs());
    if (change !== undefined) this.events.publish({ type: "zone-changed", change });
  }

  get standing() {
    return this.primaries.standing(this.live.zone.name);
  }

  records(): string[] {
    return presentRecords(this.live).map(line).sort();
  }
}

/** A secondary of all servers: it takes what is newer than what it has, from whom it reaches, as RFC 1995 and RFC 5936 say. */
class Secondary {
  serial: number | undefined;
  records: readonly string[] = [];
  readonly taken = { whole: 0, differences: 0, refused: 0 };

  constructor(private readonly contents: Map<number, string>) {}

  poll(server: Server): void {
    const { live, journal, standing } = server;
    if (this.serial !== undefined && !isSerialNewer(live.serial, this.serial)) return;
    if (standing === "behind") {
      this.taken.refused += 1;
      return;
    }
    const difference = this.serial === undefined || standing === "mirror" ? undefined : journal.difference(this.serial);
    if (difference === undefined) this.taken.whole += 1;
    else this.taken.differences += 1;
    const deleted = new Set(difference?.deleted.map(line));
    this.records =
      difference === undefined
        ? server.records()
        : [...this.records.filter((one) => !deleted.has(one)), ...difference.added.map(line)].sort();
    // What a difference leads to is what the server has.
    if (this.records.join("\n") !== server.records().join("\n")) throw new Error("another zone than the primary's");
    this.serial = live.serial;
    const digest = contentDigest(live);
    const before = this.contents.get(live.serial);
    if (before !== undefined && before !== digest) throw new Error(`two zones with the serial ${live.serial}`);
    this.contents.set(live.serial, digest);
  }
}

function pair(names: readonly string[] = ["ns1", "ns2"]) {
  const clock = createFakeClock(AT);
  const world = new World(clock, names, () => 0);
  const [first, second] = world.servers;
  if (first === undefined || second === undefined) throw new Error("two servers are needed");
  return { clock, world, first, second };
}

describe("two primaries", () => {
  test("the first by name makes the serials, the other one has them and gives the same zone", async () => {
    const { clock, first, second } = pair();
    await clock.advance(100);
    expect([first.standing, second.standing]).toEqual(["active", "mirror"]);
    first.answer(["cp1"]);
    await clock.advance(100);
    expect(second.live.serial).toBe(first.live.serial);
    expect(second.standing).toBe("behind");
    second.answer(["cp1"]);
    expect(second.live.serial).toBe(first.live.serial);
    expect(second.standing).toBe("mirror");
  });

  test("the other one takes over 5 s after the first has gone, with a higher serial and no difference from before", async () => {
    const { clock, world, first, second } = pair();
    await clock.advance(100);
    const before = second.live.serial;
    world.link(first, second, false);
    await clock.advance(FRESH_MS + TAKE_OVER_AFTER_MS - 100);
    expect(second.standing).not.toBe("active");
    await clock.advance(200);
    expect(second.standing).toBe("active");
    expect(isSerialNewer(second.live.serial, before)).toBe(true);
    expect(second.journal.difference(before)).toBeUndefined();
    // From then on it tells what changes.
    const own = second.live.serial;
    second.answer(["cp2"]);
    expect(second.journal.difference(own)).toBeDefined();
  });

  test("the first one, when it is back, begins above what the other one had", async () => {
    const { clock, world, first, second } = pair();
    world.link(first, second, false);
    await clock.advance(10_000);
    for (let change = 0; change < 30; change += 1) second.answer(change % 2 === 0 ? ["cp1"] : ["cp2"]);
    const { serial } = second.live;
    first.answer(["cp2"]);
    expect(isSerialNewer(serial, first.live.serial)).toBe(true);
    world.link(first, second, true);
    await clock.advance(1_000);
    expect([first.standing, second.standing]).toEqual(["active", "mirror"]);
    expect(isSerialNewer(first.live.serial, serial)).toBe(true);
    expect(second.live.serial).toBe(first.live.serial);
  });

  test("one that is cut off from its targets leaves it to the other one", async () => {
    const { clock, first, second } = pair();
    await clock.advance(100);
    first.isFit = false;
    first.primaries.look();
    second.primaries.look();
    expect(first.standing).not.toBe("active");
    await clock.advance(TAKE_OVER_AFTER_MS + 100);
    expect(second.standing).toBe("active");
  });

  test("a zone that nobody may transfer has serials of its own on each", async () => {
    const clock = createFakeClock(AT);
    const told: SiblingSerial[] = [];
    const live = liveZone();
    const primaries = new Primaries({
      ...{ clock, name: "ns2", fresh: () => ["ns1"], isFit: () => true, publish: () => {}, forget: () => {} },
      tell: (serials) => told.push(...serials),
    });
    const subscriber = primaries.subscriber();
    subscriber["zone-added"]?.({ type: "zone-added", zone: live }, 0);
    subscriber["zones-replaced"]?.({ type: "zones-replaced", config: {} as never }, 0);
    primaries.heard("ns1", [{ zone: "k8s.example.test", serial: live.serial + 10, records: "x" }]);
    expect(primaries.standing(live.zone.name)).toBe("active");
    expect(told).toEqual([]);
  });

  test("a sibling that does not serve the zone any more does not count for it", async () => {
    const clock = createFakeClock(AT);
    const live = liveZone(sharedZone(1, 2));
    const primaries = new Primaries({
      ...{ clock, name: "ns2", fresh: () => ["ns1"], isFit: () => true, publish: () => {}, forget: () => {} },
      tell: () => {},
    });
    const subscriber = primaries.subscriber();
    subscriber["zone-added"]?.({ type: "zone-added", zone: live }, 0);
    subscriber["zones-replaced"]?.({ type: "zones-replaced", config: {} as never }, 0);
    const said = { zone: "k8s.example.test", serial: live.serial + 10, records: contentDigest(live) };
    primaries.heard("ns1", [said]);
    expect(primaries.standing(live.zone.name)).toBe("mirror");
    primaries.heard("ns1", [{ ...said, gone: true }]);
    await clock.advance(TAKE_OVER_AFTER_MS + 100);
    expect(primaries.standing(live.zone.name)).toBe("active");
    expect(isSerialNewer(live.serial, said.serial)).toBe(true);
  });
});

function pairsOf({ servers }: World): (readonly [Server, Server])[] {
  return servers.flatMap((some, index) => servers.slice(index + 1).map((other) => [some, other] as const));
}

/** Lets some servers hear each other and others not, and some be cut off from their targets. */
function disturb(world: World): void {
  for (const [some, other] of pairsOf(world)) world.link(some, other, world.random() < 0.5);
  for (const server of world.servers) {
    server.isFit = world.random() < 0.9;
    server.primaries.look();
  }
}

function heal(world: World): void {
  for (const [some, other] of pairsOf(world)) world.link(some, other, true);
  for (const server of world.servers) {
    server.isFit = true;
    server.primaries.look();
  }
}

/** Each server sees a change at its own moment, and one may see it otherwise. */
function changeSomething({ servers, clock, random }: World): void {
  const up = TARGETS.filter(() => random() < 0.6);
  for (const server of servers) {
    const seen = random() < 0.9 ? up : TARGETS.filter(() => random() < 0.5);
    clock.after(Math.floor(random() * 400), () => server.answer(seen));
  }
}

test.each([2, 3])(
  "no secondary of %i primaries goes back over 500 random partitions, and all end with the zone of the active one",
  {
    timeout: 60_000,
  },
  async (count) => {
    const random = runRandom(count);
    const clock = createFakeClock(AT);
    const world = new World(clock, ["ns1", "ns2", "ns3"].slice(0, count), random);
    const contents = new Map<number, string>();
    const secondaries = Array.from({ length: 3 }, () => new Secondary(contents));
    let transfers = 0;
    const pollAll = (servers: readonly Server[]): void => {
      for (const secondary of secondaries) {
        const before = secondary.serial;
        secondary.poll(pick(random, servers));
        if (secondary.serial === before) continue;
        transfers += 1;
        expect(before === undefined || isSerialNewer(secondary.serial as number, before)).toBe(true);
      }
    };
    for (let round = 1; round <= 500; round += 1) {
      disturb(world);
      for (let changes = Math.floor(random() * 4); changes > 0; changes -= 1) {
        changeSomething(world);
        await clock.advance(Math.floor(random() * 500));
        pollAll(world.servers);
      }
      await clock.advance(Math.floor(random() * 12_000));
      pollAll(world.servers);
      if (round % 20 > 0) continue;
      heal(world);
      await clock.advance(20_000);
      const [active] = world.servers;
      if (active === undefined) throw new Error("no server");
      expect(active.standing).toBe("active");
      for (const server of world.servers) expect(server.live.serial).toBe(active.live.serial);
      for (const secondary of secondaries) {
        secondary.poll(active);
        expect(secondary.serial).toBe(active.live.serial);
        expect(secondary.records).toEqual(active.records());
      }
    }
    expect(transfers).toBeGreaterThan(500);
  },
);

test("without siblings, shares of the serials keep two primaries apart: no serial stands for two zones, and none goes back", async () => {
  const random = runRandom(7);
  const clock = createFakeClock(AT);
  const world = new World(clock, ["ns1", "ns2"], random);
  for (const [some, other] of pairsOf(world)) world.link(some, other, false);
  await clock.advance(FRESH_MS + TAKE_OVER_AFTER_MS + 1_000);
  const secondary = new Secondary(new Map());
  for (let round = 0; round < 500; round += 1) {
    changeSomething(world);
    await clock.advance(Math.floor(random() * 700));
    const before = secondary.serial;
    secondary.poll(pick(random, world.servers));
    const isLater = before === undefined || secondary.serial === before || isSerialNewer(secondary.serial ?? 0, before);
    expect(isLater).toBe(true);
    expect(world.servers.map(({ standing }) => standing)).toEqual(["active", "active"]);
  }
});
