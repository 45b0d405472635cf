import { describe, expect, test } from "vitest";
import type { SocketAddress } from "../../src/lib/listening.js";
import { presentSoa } from "../../src/transfer/journal.js";
import { type Notified, Notifier, type SecondaryState } from "../../src/transfer/notifier.js";
import { notifyMessage } from "../../src/transfer/notify-messages.js";
import type { ZoneChange } from "../../src/zone/live-zone.js";
import { createFakeClock } from "../support/fake-clock.js";
import { CORP } from "./signing.js";
import { answerWith, liveZone } from "./zones.js";

/** How a secondary of the test behaves: has the present zone, the one of the beginning, refuses, or is not there. */
type Manner = "follows" | "stays behind" | "refuses" | "is dead";

const KNOT = { address: "192.0.2.53", port: 53 };
const BIND = { address: "192.0.2.54", port: 53 };

function createHarness(secondaries: readonly SocketAddress[] = [KNOT], key = false) {
  const clock = createFakeClock();
  const live = liveZone();
  const first = live.serial;
  const manners = new Map<string, Manner>();
  const sent: string[] = [];
  const troubles: { state: SecondaryState; isInTrouble: boolean }[] = [];
  const notifier = new Notifier({
    clock,
    random: () => 0.5,
    keyOf: () => (key ? CORP : undefined),
    send(to, message, take) {
      const isNotify = (message[2] ?? 0) >>> 3 === 4;
      sent.push(`${isNotify ? "N" : "C"} ${to.address} ${clock.monotonicMs()}`);
      const manner = manners.get(to.address) ?? "follows";
      clock.after(manner === "is dead" ? 600 : 1, () => take(answer(message, manner)));
    },
    onTrouble: (state, isInTrouble) => troubles.push({ state, isInTrouble }),
  });
  /** NOTIFY with the right serial, made a reply to the message. */
  function answer(message: Uint8Array, manner: Manner): Uint8Array | undefined {
    if (manner === "is dead") return undefined;
    const serial = manner === "follows" ? live.serial : first;
    const reply = notifyMessage(((message[0] ?? 0) << 8) | (message[1] ?? 0), presentSoa(live, serial)).octets;
    reply[2] = (message[2] ?? 0) | 0x84;
    reply[3] = manner === "refuses" ? 5 : 0;
    return reply;
  }
  const notified = (to: readonly SocketAddress[], isOptional = false): ReadonlyMap<typeof live.zone.name, Notified> =>
    new Map([[live.zone.name, { secondaries: to, minIntervalMs: 200, isOptional }]]);
  notifier.addZone(live);
  notifier.configure(notified(secondaries));
  let up = 4;
  return {
    ...{ clock, live, notifier, sent, troubles, manners, notified },
    change() {
      up = up === 4 ? 3 : 4;
      notifier.change(answerWith(live, ["cp1", "cp2", "cp3", "cp4"].slice(0, up)) as ZoneChange);
    },
  };
}

describe("the notifier", () => {
  test("says nothing before queries are answered, then tells each secondary", async () => {
    const { clock, notifier, sent, change } = createHarness([KNOT, BIND]);
    change();
    await clock.advance(1_000);
    expect(sent).toEqual([]);
    notifier.start();
    await clock.advance(0);
    expect(sent).toEqual(["N 192.0.2.53 1000", "N 192.0.2.54 1000"]);
  });

  test("tells of a change at once, and knows what the secondary has", async () => {
    const { clock, live, notifier, sent, change } = createHarness();
    notifier.start();
    await clock.advance(5_000);
    sent.length = 0;
    change();
    expect(sent).toEqual(["N 192.0.2.53 5000"]);
    expect(notifier.states()[0]?.lagMs).toBe(0);
    await clock.advance(100);
    expect(notifier.states()[0]?.lagMs).toBe(100);
    await clock.advance(400);
    const atMs = (ms: number): number => Date.UTC(2026, 0, 1) + ms;
    expect(notifier.states()).toEqual([
      {
        zone: live.zone.name,
        secondary: KNOT,
        notifiedMs: atMs(5_000),
        acknowledged: { atMs: atMs(5_001), rcode: "NOERROR" },
        checked: { atMs: atMs(5_301), serial: live.serial },
        lagMs: 0,
      },
    ]);
  });

  test("one that stays behind is told again, and is in trouble after 5 s until it follows", async () => {
    const { clock, notifier, sent, troubles, manners, change } = createHarness();
    notifier.start();
    await clock.advance(1_000);
    manners.set(KNOT.address, "stays behind");
    sent.length = 0;
    change();
    await clock.advance(4_900);
    expect(sent.filter((one) => one.startsWith("N"))).toHaveLength(4);
    expect(troubles).toEqual([]);
    await clock.advance(6_000);
    expect(troubles).toMatchObject([{ isInTrouble: true, state: { trouble: "behind", lagMs: 10_001 } }]);
    manners.set(KNOT.address, "follows");
    await clock.advance(30_000);
    expect(troubles).toMatchObject([{ isInTrouble: true }, { isInTrouble: false, state: { lagMs: 0 } }]);
  });

  test.each([
    { manner: "is dead", trouble: "silent" },
    { manner: "refuses", trouble: "lame" },
  ] as const)("one that $manner is noticed without any change", async ({ manner, trouble }) => {
    const { clock, notifier, troubles, manners } = createHarness();
    notifier.start();
    await clock.advance(1_000);
    manners.set(KNOT.address, manner);
    await clock.advance(60_000);
    expect(troubles).toMatchObject([{ isInTrouble: true, state: { trouble } }]);
  });

  test("one that may go without the zone is in no trouble if it does", async () => {
    const { clock, notifier, troubles, manners, notified } = createHarness();
    notifier.configure(notified([KNOT], true));
    manners.set(KNOT.address, "refuses");
    notifier.start();
    await clock.advance(60_000);
    expect(troubles).toEqual([]);
    expect(notifier.states()).toMatchObject([{ lagMs: 0 }]);
    manners.set(KNOT.address, "is dead");
    await clock.advance(60_000);
    expect(troubles).toMatchObject([{ isInTrouble: true, state: { trouble: "silent" } }]);
  });

  test("the lag counts from the first change that is missing", async () => {
    const { clock, notifier, manners, change } = createHarness();
    notifier.start();
    await clock.advance(1_000);
    manners.set(KNOT.address, "stays behind");
    for (let count = 0; count < 20; count += 1) {
      change();
      await clock.advance(50);
    }
    expect(notifier.states()[0]?.lagMs).toBe(1_000);
    manners.set(KNOT.address, "follows");
    await clock.advance(400);
    expect(notifier.states()[0]?.lagMs).toBe(0);
  });

  test("one that does not answer what it has transferred is told of the next change when it does", async () => {
    const { clock, live, notifier, sent, manners, change } = createHarness([KNOT, BIND]);
    notifier.start();
    await clock.advance(1_000);
    manners.set(KNOT.address, "stays behind");
    sent.length = 0;
    change();
    const finished = { kind: "ixfr", octets: 100, durationMs: 1, isComplete: true } as const;
    notifier.transferred({ ...finished, zone: live.zone.name, client: KNOT.address, serial: live.serial });
    await clock.advance(250);
    change();
    await clock.advance(250);
    expect(sent.filter((one) => one.startsWith("N"))).toEqual([
      "N 192.0.2.53 1000",
      "N 192.0.2.54 1000",
      "N 192.0.2.54 1250",
    ]);
    manners.set(KNOT.address, "follows");
    await clock.advance(200);
    expect(notifier.states()).toMatchObject([{ lagMs: 0 }, { lagMs: 0 }]);
  });

  test("an unsigned answer to a signed question counts for nothing", async () => {
    const { clock, notifier } = createHarness([{ ...KNOT, ...{ key: CORP.name } }], true);
    notifier.start();
    await clock.advance(5_000);
    expect(notifier.states()).toMatchObject([{ trouble: "silent" }]);
    expect(notifier.states()[0]?.checked).toBeUndefined();
  });

  test("a reload keeps those that stay, begins with new ones and leaves those that are gone", async () => {
    const { clock, live, notifier, sent, notified, change } = createHarness([KNOT]);
    notifier.start();
    await clock.advance(5_000);
    sent.length = 0;
    notifier.configure(notified([KNOT, BIND]));
    await clock.advance(100);
    expect(sent).toEqual(["N 192.0.2.54 5000"]);
    notifier.configure(notified([BIND]));
    sent.length = 0;
    change();
    expect(sent).toEqual([]);
    await clock.advance(100);
    expect(sent).toEqual(["N 192.0.2.54 5200"]);
    notifier.removeZone(live.zone.name);
    sent.length = 0;
    await clock.advance(60_000);
    expect(sent).toEqual([]);
    expect(notifier.states()).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });
});
