import { pick } from "../../support/random.js";
import type { Condition, Trouble, World } from "./conditions.js";

/** Makes random histories. The figures are those that real kube-apiservers were measured with. */

type Random = () => number;

/** A cause adds its conditions to these lists. */
interface Draft {
  readonly targets: Condition[][];
  readonly servers: Condition[][];
}

const LIVEZONE_SERVERS = 2;

function between(random: Random, from: number, to: number): number {
  return from + random() * (to - from);
}

function add(list: Condition[] | undefined, fromMs: number, lengthMs: number, trouble: Trouble): number {
  list?.push({ ...trouble, fromMs, toMs: fromMs + lengthMs });
  return fromMs + lengthMs;
}

/** Refused, then TLS hangs, then 403 until the access rules are loaded, then 500, then ready. Returns the end. */
function start(random: Random, list: Condition[] | undefined, fromMs: number): number {
  const listensMs = add(list, fromMs, between(random, 300, 3_000), { kind: "gone" });
  const greetsMs = add(list, listensMs, between(random, 500, 2_500), { kind: "stopped" });
  const answer = { kind: "answers", tookMs: between(random, 2, 20) } as const;
  const loadedMs = add(list, greetsMs, between(random, 300, 1_000), { ...answer, class: "auth-required" });
  return add(list, loadedMs, between(random, 300, 1_600), { ...answer, class: "not-ready" });
}

/** Each apiserver notices within a second that etcd is gone, and within two that it is back. */
function etcdGone(random: Random, { targets }: Draft, fromMs: number, lengthMs: number, tookMs: () => number): void {
  for (const list of targets) {
    const noticesMs = fromMs + between(random, 0, 1_000);
    const backMs = fromMs + lengthMs + between(random, 0, 2_000);
    const trouble = { kind: "answers", class: "not-ready", tookMs: tookMs() } as const;
    if (backMs > noticesMs) add(list, noticesMs, backMs - noticesMs, trouble);
  }
}

/** The check of etcd ends after 2 s by itself: what takes longer is not ready. */
function etcdSlow(random: Random, { targets }: Draft, fromMs: number, lengthMs: number, byMs: number): void {
  for (const list of targets) {
    const tookMs = Math.min(byMs, 2_000) + between(random, 5, 60);
    const isLate = byMs > 2_000;
    add(list, fromMs + between(random, 0, 500), lengthMs, {
      kind: "answers",
      class: isLate ? "not-ready" : "ok",
      tookMs,
    });
  }
}

type Cause = (random: Random, draft: Draft, fromMs: number, lengthMs: number) => void;

/** Causes that all targets of a cluster share. */
export const SHARED_CAUSES: Readonly<Record<string, Cause>> = {
  "etcd stopped": (random, draft, fromMs, lengthMs) =>
    etcdGone(random, draft, fromMs, lengthMs, () => between(random, 5, 50)),
  // The check of etcd ends after 2 s by itself, and some answers take longer.
  "etcd frozen": (random, draft, fromMs, lengthMs) =>
    etcdGone(random, draft, fromMs, lengthMs, () =>
      random() < 0.2 ? between(random, 2_300, 3_500) : between(random, 1_950, 2_300),
    ),
  "etcd restarted": (random, draft, fromMs) =>
    etcdGone(random, draft, fromMs, between(random, 300, 4_000), () => between(random, 5, 50)),
  "etcd slow": (random, draft, fromMs, lengthMs) =>
    etcdSlow(random, draft, fromMs, lengthMs, between(random, 0, 5_000)),
  "authority rotated": (random, { targets }, fromMs, lengthMs) => {
    const endMs = fromMs + lengthMs + 2_000;
    for (const list of targets) {
      const replacedMs = fromMs + between(random, 0, 2_000);
      add(list, replacedMs, endMs - replacedMs, { kind: "untrusted" });
    }
  },
  overload: (random, { targets }, fromMs, lengthMs) => {
    for (const list of targets) {
      let atMs = fromMs + between(random, 0, 2_000);
      while (atMs < fromMs + lengthMs) {
        const part = between(random, 500, 4_000);
        const isRefusing = random() < 0.5;
        const tookMs = isRefusing ? between(random, 5, 50) : between(random, 500, 3_300);
        atMs = add(list, atMs, part, { kind: "answers", class: isRefusing ? "overloaded" : "ok", tookMs });
      }
    }
  },
  "admission webhook down": (random, { targets }, fromMs, lengthMs) => {
    for (const list of targets) {
      add(list, fromMs, lengthMs, { kind: "answers", class: "ok", tookMs: between(random, 50, 400) });
    }
  },
  "all restarted": (random, { targets }, fromMs) => {
    for (const list of targets) start(random, list, fromMs + between(random, 0, 500));
  },
  "rolling restart": (random, { targets }, fromMs) => {
    let atMs = fromMs;
    for (const list of targets) atMs = start(random, list, atMs) + between(random, 2_000, 6_000);
  },
};

/** Causes of one target. */
export const SINGLE_CAUSES: Readonly<Record<string, Cause>> = {
  crash: (random, { targets }, fromMs, lengthMs) => {
    const list = pick(random, targets);
    start(random, list, add(list, fromMs, lengthMs, { kind: "gone" }));
  },
  hang: (random, { targets }, fromMs, lengthMs) =>
    void add(pick(random, targets), fromMs, lengthMs, { kind: "stopped" }),
  "black hole": (random, { targets }, fromMs, lengthMs) =>
    void add(pick(random, targets), fromMs, lengthMs, { kind: "black-hole" }),
  "not ready": (random, { targets }, fromMs, lengthMs) => {
    const answer = { kind: "answers", class: "not-ready", tookMs: between(random, 2, 20) } as const;
    add(pick(random, targets), fromMs, lengthMs, answer);
  },
  "packet loss at a target": (random, { targets }, fromMs, lengthMs) =>
    void add(pick(random, targets), fromMs, lengthMs, { kind: "loss", share: between(random, 0.02, 0.3) }),
};

/** Troubles of the network of one livezone server, or of both. */
export const PROBER_CAUSES: Readonly<Record<string, Cause>> = {
  "prober cut off": (random, { servers }, fromMs, lengthMs) => {
    const trouble = { kind: random() < 0.5 ? "black-hole" : "no-route" } as const;
    const concerned = random() < 0.3 ? servers : [pick(random, servers)];
    for (const list of concerned) add(list, fromMs, lengthMs, trouble);
  },
  "packet loss at a prober": (random, { servers }, fromMs, lengthMs) =>
    void add(pick(random, servers), fromMs, lengthMs, { kind: "loss", share: between(random, 0.02, 0.3) }),
};

function slowEtcd(byMs: readonly number[]): Readonly<Record<string, Cause>> {
  return Object.fromEntries(
    byMs.map((ms): [string, Cause] => [
      `etcd slow by ${ms / 1_000} s`,
      (random, draft, fromMs, lengthMs) => etcdSlow(random, draft, fromMs, lengthMs, ms),
    ]),
  );
}

/** An etcd that is slow by as much as the name says. */
export const SLOW_ETCD = slowEtcd([500, 1_000, 1_500, 2_000, 2_500, 3_000, 4_000, 5_000]);

/** Causes that no rule was chosen by: they show whether the rules hold for others too. */
export const HELD_OUT: Readonly<Record<string, Cause>> = {
  ...slowEtcd([1_200, 2_700, 3_400, 4_600, 5_500]),
  "etcd stopped for 0.2 to 20 s": (random, draft, fromMs) =>
    etcdGone(random, draft, fromMs, 200 * 100 ** random(), () => between(random, 5, 50)),
};

const CAUSES: Readonly<Record<string, Cause>> = {
  ...SHARED_CAUSES,
  ...SINGLE_CAUSES,
  ...PROBER_CAUSES,
  ...SLOW_ETCD,
  ...HELD_OUT,
};

/** How long a history and its causes are, milliseconds. */
export interface HistoryTimes {
  /** Before the first cause every target is healthy so long. */
  readonly quietMs: number;
  /** A cause begins at a random moment of so long a time. */
  readonly spreadMs: number;
  /** Most that a cause lasts; 1 s at least. */
  readonly longestMs: number;
  /** Time after the last condition, in which all must be well again. */
  readonly afterMs: number;
}

const LONG: HistoryTimes = { quietMs: 9_000, spreadMs: 12_000, longestMs: 30_000, afterMs: 20_000 };

/** For histories that are played in real time. */
export const SHORT: HistoryTimes = { quietMs: 5_500, spreadMs: 2_200, longestMs: 6_000, afterMs: 6_000 };

/** One history: what happens, and by which causes. */
export interface History {
  readonly causes: readonly string[];
  readonly world: World;
}

/** @param causes names of the tables above, in any order; `cold start` begins with every apiserver down */
export function historyOf(random: Random, targets: number, causes: readonly string[], times = LONG): History {
  const { quietMs, spreadMs, longestMs, afterMs } = times;
  const draft: Draft = {
    targets: Array.from({ length: targets }, () => []),
    servers: Array.from({ length: LIVEZONE_SERVERS }, () => []),
  };
  for (const cause of causes) {
    const lengthMs = 1_000 * (longestMs / 1_000) ** random();
    if (cause === "cold start") for (const list of draft.targets) start(random, list, between(random, -500, 2_000));
    else CAUSES[cause]?.(random, draft, quietMs + between(random, 0, spreadMs), lengthMs);
  }
  const ends = [...draft.targets, ...draft.servers].flat().map(({ toMs }) => toMs);
  return { causes, world: { ...draft, endMs: Math.max(quietMs, ...ends) + afterMs } };
}

/** One to seven targets, mostly three to five. */
export function randomTargets(random: Random): number {
  return pick(random, [1, 2, 3, 3, 3, 3, 4, 5, 5, 6, 7]);
}

/** A random history with one to three causes. */
export function randomHistory(random: Random): History {
  const targets = randomTargets(random);
  const count = pick(random, [1, 1, 1, 1, 1, 1, 2, 2, 2, 3]);
  const causes = Array.from({ length: count }, () => {
    const group = pick(random, [SHARED_CAUSES, SHARED_CAUSES, SINGLE_CAUSES, SINGLE_CAUSES, PROBER_CAUSES]);
    return pick(random, Object.keys(group));
  });
  return historyOf(random, targets, random() < 0.05 ? ["cold start", ...causes.slice(1)] : causes);
}
