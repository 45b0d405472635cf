import { describe, expect, test } from "vitest";
import { type LearnedAddress, type Lesson, learn, type SeenHealth } from "../../src/discovery/learn.js";
import type { Candidate } from "../../src/discovery/source.js";

const NOW = 1_000_000_000;
const HOUR = 3_600_000;

interface Sketch {
  readonly learned?: readonly LearnedAddress[];
  readonly sources?: readonly string[];
  readonly proposals?: Readonly<Record<string, readonly Candidate[]>>;
  readonly health?: Readonly<Record<string, SeenHealth>>;
  readonly nowMs?: number;
  readonly mostCandidates?: number;
  readonly passed?: readonly string[];
  readonly written?: readonly string[];
  readonly allowSpecialAddresses?: boolean;
}

function lessonOf({ learned = [], proposals = {}, health = {}, ...rest }: Sketch): Lesson {
  return {
    learned,
    written: rest.written ?? [],
    sources: rest.sources ?? ["k8s", "dns"],
    proposals: new Map(Object.entries(proposals)),
    passed: new Set(rest.passed),
    mostCandidates: rest.mostCandidates ?? 1_000,
    port: 6443,
    allowSpecialAddresses: rest.allowSpecialAddresses ?? false,
    forgetAfterMs: HOUR,
    healthOf: (address) => health[address],
    nowMs: rest.nowMs ?? NOW,
  };
}

const shown = (sketch: Sketch) => {
  const { learned, notices } = learn(lessonOf(sketch));
  return { ids: learned.map(({ id, address }) => `${id}=${address}`), notices: notices.map(({ text }) => text) };
};

const known = (id: string, address: string, more: Partial<LearnedAddress> = {}): LearnedAddress => ({
  ...{ address, id, name: id, sources: ["k8s"], isProven: true },
  ...more,
});

const node = (id: string, ...addresses: readonly string[]): Candidate => ({ id, addresses });

describe("what is learned", () => {
  test("is every address that is proposed, unproven until it has passed", () => {
    const { learned } = learn(
      lessonOf({
        proposals: { k8s: [node("cp2", "192.0.2.12"), node("cp1", "192.0.2.11", "2001:DB8::11")] },
        health: { "192.0.2.12": { health: "up", sinceMs: 0 } },
      }),
    );
    expect(learned.map(({ id, address, isProven }) => [id, address, isProven])).toEqual([
      ["cp1", "192.0.2.11", false],
      ["cp1", "2001:db8::11", false],
      ["cp2", "192.0.2.12", true],
    ]);
  });

  test("is proven by a pass, also if it is down again", () => {
    const { learned } = learn(
      lessonOf({
        learned: [known("cp1", "192.0.2.11", { isProven: false })],
        proposals: { k8s: [node("cp1", "192.0.2.11"), node("cp2", "192.0.2.12")] },
        health: { "192.0.2.11": { health: "down", sinceMs: 0 } },
        passed: ["192.0.2.11"],
      }),
    );
    expect(learned.map(({ isProven }) => isProven)).toEqual([true, false]);
  });

  test("is kept while its source has not spoken yet", () => {
    const learned = [known("cp1", "192.0.2.11")];
    expect(shown({ learned }).ids).toEqual(["cp1=192.0.2.11"]);
    expect(learn(lessonOf({ learned })).learned[0]).not.toHaveProperty("goneSinceMs");
  });

  test("combines sources: the first that names an address decides, and all that do are noted", () => {
    const { learned } = learn(
      lessonOf({
        proposals: {
          k8s: [node("cp1", "192.0.2.11")],
          dns: [node("ip-192-0-2-11", "192.0.2.11"), node("x", "192.0.2.12")],
        },
      }),
    );
    expect(learned.map(({ id, sources }) => [id, sources])).toEqual([
      ["cp1", ["k8s", "dns"]],
      ["x", ["dns"]],
    ]);
  });

  test("takes what two sources call the same for the same", () => {
    expect(shown({ proposals: { k8s: [node("cp1", "192.0.2.11")], dns: [node("cp1", "2001:db8::11")] } })).toEqual({
      ids: ["cp1=192.0.2.11", "cp1=2001:db8::11"],
      notices: [],
    });
  });

  test("serves without its source until another address is up", () => {
    const orphan = { learned: [known("cp1", "192.0.2.11")], sources: ["dns"] };
    expect(shown(orphan).ids).toEqual(["cp1=192.0.2.11"]);
    const proposals = { dns: [node("cp2", "192.0.2.12")] };
    expect(shown({ ...orphan, proposals }).ids).toEqual(["cp2=192.0.2.12", "cp1=192.0.2.11"]);
    const health = { "192.0.2.12": { health: "up", sinceMs: 0 } } as const;
    expect(shown({ ...orphan, proposals, health }).ids).toEqual(["cp2=192.0.2.12"]);
    expect(shown({ ...orphan, written: ["192.0.2.12"], health }).ids).toEqual([]);
  });
});

describe("what its source has dropped", () => {
  const proposals = { k8s: [node("cp2", "192.0.2.12")] };
  const rows = [
    { name: "stays while it passes", goneMs: 5 * HOUR, health: { health: "up", sinceMs: 0 }, stays: true },
    { name: "stays an hour when it is down", goneMs: HOUR - 1, health: { health: "down", sinceMs: 0 }, stays: true },
    { name: "is forgotten after that", goneMs: HOUR, health: { health: "down", sinceMs: 0 }, stays: false },
    {
      name: "is forgotten an hour after it went down, not after it was dropped",
      goneMs: 5 * HOUR,
      health: { health: "down", sinceMs: NOW - HOUR + 1 },
      stays: true,
    },
    {
      name: "is forgotten without a result too",
      goneMs: HOUR,
      health: { health: "unknown", sinceMs: 0 },
      stays: false,
    },
  ] as const;
  test.each(rows)("$name", ({ goneMs, health, stays }) => {
    const learned = [known("cp1", "192.0.2.11", { goneSinceMs: NOW - goneMs })];
    const { ids } = shown({ learned, proposals, health: { "192.0.2.11": health } });
    expect(ids).toEqual(["cp2=192.0.2.12", ...(stays ? ["cp1=192.0.2.11"] : [])]);
  });

  test("is gone from the moment on, and comes back as if nothing had happened", () => {
    const first = learn(lessonOf({ learned: [known("cp1", "192.0.2.11")], proposals }));
    expect(first.learned[1]).toMatchObject({ id: "cp1", goneSinceMs: NOW });
    expect(first.againInMs).toBe(HOUR);
    const back = { k8s: [node("cp1", "192.0.2.11"), node("cp2", "192.0.2.12")] };
    const second = learn(lessonOf({ learned: first.learned, proposals: back, nowMs: NOW + 1 }));
    expect(second.learned[0]).toEqual(known("cp1", "192.0.2.11"));
  });

  test("gives its address up to whoever has it now, who must pass anew", () => {
    const { learned } = learn(
      lessonOf({ learned: [known("cp1", "192.0.2.11")], proposals: { k8s: [node("cp4", "192.0.2.11")] } }),
    );
    expect(learned).toMatchObject([{ id: "cp4", isProven: false }]);
  });
});

describe("what cannot be used", () => {
  const rows = [
    { name: "loopback", candidate: node("a", "127.0.0.1"), says: "loopback" },
    { name: "no address", candidate: node("a", "cp1.example.com"), says: "is a name" },
    { name: "link-local", candidate: node("a", "fe80::1"), says: "link-local" },
    { name: "control characters", candidate: node("a\u0000\u001b[2J", "x\ny"), says: "left out" },
    { name: "another port", candidate: { ...node("a", "192.0.2.9"), port: 6444 }, says: "port 6444" },
  ] as const;
  test.each(rows)("$name is told and left out", ({ candidate, says }) => {
    const { ids, notices } = shown({ proposals: { k8s: [candidate, node("b", "192.0.2.12")] } });
    expect(ids).toEqual(["b=192.0.2.12"]);
    expect(notices).toEqual([expect.stringContaining(says)]);
    expect(notices[0]).not.toMatch(/\p{Cc}/u);
  });

  test("special addresses are taken where the zone allows them", () => {
    expect(shown({ proposals: { k8s: [node("a", "127.0.0.1")] }, allowSpecialAddresses: true }).ids).toEqual([
      "a=127.0.0.1",
    ]);
  });

  test("ids that make the same label are told apart, and stay so", () => {
    const both = [node("a.b", "192.0.2.1"), node("a-b", "192.0.2.2")];
    const first = learn(lessonOf({ proposals: { k8s: both } }));
    const ids = first.learned.map(({ id }) => id);
    expect(ids[0]).toBe("a-b");
    expect(ids[1]).toMatch(/^a-b-[0-9a-f]{6}$/);
    expect(first.notices).toHaveLength(1);
    const alone = learn(lessonOf({ learned: first.learned, proposals: { k8s: [both[0] as Candidate] } }));
    expect(alone.learned[0]?.id).toBe(ids[1]);
  });

  test("an address that several share is one target, and called out", () => {
    const { ids, notices } = shown({ proposals: { k8s: ["cp1", "cp2", "cp3"].map((id) => node(id, "192.0.2.100")) } });
    expect(ids).toEqual(["cp1=192.0.2.100"]);
    expect(notices).toEqual([expect.stringContaining("virtual IP")]);
  });

  test("a candidate without addresses is nothing", () => {
    expect(shown({ proposals: { k8s: [node("a")] } }).ids).toEqual([]);
  });

  test("addresses of one candidate are bounded, and that is told", () => {
    const many = Array.from({ length: 10_000 }, (_, i) => `10.0.${i >> 8}.${i & 255}`);
    const { ids, notices } = shown({ proposals: { k8s: [node("a", ...many), node("b", "192.0.2.12")] } });
    expect(ids).toHaveLength(17);
    expect(ids).toContain("b=192.0.2.12");
    expect(notices).toEqual([expect.stringContaining("has 10000 addresses")]);
  });

  test("of too many candidates, those that are known are looked at, then the first by id", () => {
    const many = ["d", "c", "b", "a", "z"].map((id, i) => node(id, `192.0.2.${i}`));
    const lesson = lessonOf({ learned: [known("z", "192.0.2.4")], proposals: { k8s: many }, mostCandidates: 3 });
    const { learned, skipped } = learn(lesson);
    expect([learned.map(({ id }) => id), skipped]).toEqual([["a", "b", "z"], 2]);
  });

  test("ids that JavaScript knows are ids like others", () => {
    const { ids } = shown({ proposals: { k8s: [node("__proto__", "192.0.2.1"), node("constructor", "192.0.2.2")] } });
    expect(ids).toEqual(["constructor=192.0.2.2", "proto=192.0.2.1"]);
  });

  test("notices are bounded", () => {
    const bad = Array.from({ length: 10_000 }, (_, i) => node(`n${i}`, `bad${i}`));
    expect(shown({ proposals: { k8s: bad } }).notices.length).toBeLessThanOrEqual(100);
  });
});
