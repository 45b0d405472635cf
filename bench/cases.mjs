/**
 * What is measured, and what is asked of it.
 *
 * A *group* is measured together: its *lanes* take turns, round after round (A B C A B C), so that whatever else the
 * machine does hits all alike. A *case* is one figure drawn from the medians of a group's lanes, with its bar.
 */

/** Queries a second of the cases that compare latency and CPU at a given load. */
const STEADY_RATE = 30_000;
/** Queries a second of a server that has little to do. */
const QUIET_RATE = 1_000;
/** What production has on: networks that may ask, and a limit that none of the load reaches. */
const ALLOW = 'queries: { allow: ["127.0.0.0/8", "10.0.0.0/8", "192.168.0.0/16"] }';
const RATE_LIMIT = "queries: { rateLimit: { perSecond: 1000000 } }";
/** Legitimate queries a second beside the flood. */
const FLOODED_RATE = 5_000;
/** Changes a second whose way to the wire is timed: far enough apart that each is seen before the next. */
const TIMED_CHANGES = 100;
const TIMED = { queries: "a", changes: TIMED_CHANGES, watch: true };
/** Load that asks for one reply after the other. */
const ONE_AT_A_TIME = ["--sockets", "1", "--outstanding", "1"];
/** Changes a second that throughput is to survive. */
const MANY_CHANGES = 1_000;
/** Zones of the case of many. */
export const MANY_ZONES = 10_000;

/**
 * Lanes by group. `server` is a key of SERVERS; `queries` a kind of QUERY_KINDS; `load` more arguments for load.c;
 * `changes`, a second, are made meanwhile, `watch` times them; `zones` are served, and asked uniformly; `options` are
 * more lines of livezone's main file; `rss` watches memory; `idle` sends nothing and takes the server's CPU time.
 */
export const GROUPS = {
  a: {
    title: "A query, three addresses, saturated",
    lanes: Object.fromEntries(
      ["echo", "livezone", "gdnsd", "knot", "nsd", "bind"].map((server) => [server, { server, queries: "a" }]),
    ),
  },
  cookie: {
    title: "EDNS and client cookie, saturated",
    lanes: { livezone: { server: "livezone", queries: "cookie" }, gdnsd: { server: "gdnsd", queries: "cookie" } },
  },
  nxdomain: {
    title: "NXDOMAIN, random names, saturated",
    lanes: { livezone: { server: "livezone", queries: "nxdomain" }, gdnsd: { server: "gdnsd", queries: "nxdomain" } },
  },
  mixed: {
    title: "What a resolver farm sends, saturated",
    lanes: { livezone: { server: "livezone", queries: "mixed" }, gdnsd: { server: "gdnsd", queries: "mixed" } },
  },
  steady: {
    title: `A query at ${STEADY_RATE} queries/s`,
    lanes: Object.fromEntries(
      ["livezone", "gdnsd"].map((server) => [server, { server, queries: "a", load: ["--rate", String(STEADY_RATE)] }]),
    ),
  },
  quiet: {
    title: `A query at ${QUIET_RATE} queries/s`,
    lanes: Object.fromEntries(
      ["livezone", "gdnsd"].map((server) => [server, { server, queries: "a", load: ["--rate", String(QUIET_RATE)] }]),
    ),
  },
  idle: { title: "No queries, three targets at 2 s", lanes: { livezone: { server: "demo", idle: true } } },
  policy: {
    title: "A query with an access list and with a rate limit, saturated",
    lanes: {
      "no policy": { server: "livezone", queries: "a" },
      allow: { server: "livezone", queries: "a", options: ALLOW },
      "rate limit": { server: "livezone", queries: "a", options: RATE_LIMIT },
    },
  },
  zones: {
    title: `${MANY_ZONES} zones against one, saturated`,
    lanes: {
      "1 zone": { server: "livezone", queries: "a" },
      "many zones": { server: "livezone", queries: "zones", zones: MANY_ZONES },
    },
  },
  change: {
    title: "Health change to changed answer",
    lanes: {
      idle: { server: "driver", ...TIMED, load: ONE_AT_A_TIME },
      "idle floor": { server: "changingEcho", ...TIMED, load: ONE_AT_A_TIME },
      saturated: { server: "driver", ...TIMED },
      "saturated floor": { server: "changingEcho", ...TIMED },
    },
  },
  changeNew: {
    title: "Health change to a state that never was before",
    lanes: {
      idle: { server: "driver", ...TIMED, isNew: true, load: ONE_AT_A_TIME },
      saturated: { server: "driver", ...TIMED, isNew: true },
    },
  },
  churn: {
    title: `${MANY_CHANGES} changes of health a second, saturated`,
    lanes: {
      "no changes": { server: "driver", queries: "a" },
      changes: { server: "driver", queries: "a", changes: MANY_CHANGES },
    },
  },
  dgram: {
    title: "Node's dgram in place of the native part, saturated",
    lanes: {
      echo: { server: "echo", queries: "a" },
      "dgram echo": { server: "dgramEcho", queries: "a" },
      dgram: { server: "dgram", queries: "a" },
    },
  },
  stall: {
    title: `The TCP thread busy all the time, ${STEADY_RATE} queries/s over UDP on the same core`,
    lanes: Object.fromEntries(
      ["driver", "stalledDriver"].map((server) => [
        server,
        { server, queries: "a", load: ["--rate", String(STEADY_RATE)] },
      ]),
    ),
  },
  memory: { title: "Resident memory, demo zone", lanes: { livezone: { server: "demo", queries: "demo", rss: true } } },
  flood: {
    title: `${FLOODED_RATE} queries/s beside malformed packets at full speed`,
    lanes: {
      flooded: { server: "livezone", queries: "a", load: ["--rate", String(FLOODED_RATE)], flood: "malformed" },
    },
  },
};

/** The figures of one run; each lane has the median of each. */
export const FIGURES = {
  qps: { title: "queries/s", of: (run) => run.qps ?? null },
  cpuUsPerQuery: { title: "CPU µs/query", of: (run) => run.cpuUsPerQuery ?? null },
  p50Us: { title: "p50 µs", of: (run) => run.latencyUs?.p50 ?? null },
  p99Us: { title: "p99 µs", of: (run) => run.latencyUs?.p99 ?? null },
  answeredShare: { title: "answered", of: (run) => (run.sent ? (run.sent - run.lost) / run.sent : null) },
  changeP99Ms: { title: "change p99 ms", of: (run) => run.change?.p99Ms ?? null },
  rssMb: { title: "RSS MB", of: (run) => run.rssMb ?? null },
  cpuPercent: { title: "CPU %", of: (run) => run.cpuPercent ?? null },
};

/** A figure of lane `mine` over that of lane `theirs`. */
const ratio = (figure, mine, theirs) => ({
  unit: "ratio",
  figure,
  lanes: [mine, theirs],
  value: (medians) => medians[mine][figure] / medians[theirs][figure],
});

/** A figure of one lane as it is. */
const figure = (name, unit, lane) => ({ unit, figure: name, lanes: [lane], value: (medians) => medians[lane][name] });

const atLeast = (bar, goal) => ({ better: "higher", bar, goal });
const atMost = (bar, goal) => ({ better: "lower", bar, goal });

/** Every case by name. Those without a bar are run only when they are named, except those that others are compared with. */
export const CASES = {
  "a-gdnsd": {
    group: "a",
    title: "A query, 3 addresses, saturated: queries/s against gdnsd",
    ...ratio("qps", "livezone", "gdnsd"),
    ...atLeast(0.9, 1.05),
  },
  "a-echo": {
    group: "a",
    title: "the same against the bare C echo",
    ...ratio("qps", "livezone", "echo"),
    ...atLeast(0.95, 1),
  },
  ...Object.fromEntries(
    [
      ["knot", "Knot"],
      ["nsd", "NSD"],
      ["bind", "BIND"],
    ].map(([server, title]) => [
      `a-${server}`,
      {
        group: "a",
        title: `the same against ${title}`,
        ...ratio("qps", "livezone", server),
        ...atLeast(1.2, 2),
      },
    ]),
  ),
  cookie: {
    group: "cookie",
    title: "EDNS + client cookie: queries/s against gdnsd",
    ...ratio("qps", "livezone", "gdnsd"),
    ...atLeast(0.85, 1),
  },
  nxdomain: {
    group: "nxdomain",
    title: "NXDOMAIN with random names: queries/s against gdnsd",
    ...ratio("qps", "livezone", "gdnsd"),
    ...atLeast(0.85, 1),
  },
  mixed: {
    group: "mixed",
    title: "Mixed queries: queries/s against gdnsd",
    ...ratio("qps", "livezone", "gdnsd"),
    better: "higher",
  },
  cpu: {
    group: "steady",
    title: `CPU per query at ${STEADY_RATE.toLocaleString("en")} queries/s: against gdnsd`,
    ...ratio("cpuUsPerQuery", "livezone", "gdnsd"),
    ...atMost(1.15, 1.1),
  },
  latency: {
    group: "steady",
    title: `latency p99 at ${STEADY_RATE.toLocaleString("en")} queries/s: against gdnsd`,
    ...ratio("p99Us", "livezone", "gdnsd"),
    ...atMost(1.5, 1),
  },
  "cpu-quiet": {
    group: "quiet",
    title: `CPU per query at ${QUIET_RATE.toLocaleString("en")} queries/s: against gdnsd`,
    ...ratio("cpuUsPerQuery", "livezone", "gdnsd"),
    ...atMost(1.3, 1.1),
  },
  "cpu-idle": {
    group: "idle",
    title: "CPU without queries, three targets at 2 s, of one core",
    ...figure("cpuPercent", "%", "livezone"),
    ...atMost(1, 0.5),
  },
  allow: {
    group: "policy",
    title: "an access list: queries/s kept",
    ...ratio("qps", "allow", "no policy"),
    ...atLeast(0.95, 1),
  },
  "rate-limit": {
    group: "policy",
    title: "a rate limit that is not reached: queries/s kept",
    ...ratio("qps", "rate limit", "no policy"),
    ...atLeast(0.95, 1),
  },
  zones: {
    group: "zones",
    title: `${MANY_ZONES.toLocaleString("en")} zones against 1 zone: queries/s`,
    ...ratio("qps", "many zones", "1 zone"),
    ...atLeast(0.85, 0.95),
  },
  "change-idle": {
    group: "change",
    title: "health change to changed answer on the wire, p99, otherwise idle",
    ...figure("changeP99Ms", "ms", "idle"),
    ...atMost(2, 1),
  },
  "change-idle-new": {
    group: "changeNew",
    title: "the same, every second change to a state that never was before",
    ...figure("changeP99Ms", "ms", "idle"),
    better: "lower",
    isReference: true,
  },
  "change-idle-floor": {
    group: "change",
    title: "the floor: a C program whose answer another thread changes in memory",
    ...figure("changeP99Ms", "ms", "idle floor"),
    better: "lower",
    isReference: true,
  },
  "change-saturated": {
    group: "change",
    title: "the same, saturated",
    ...figure("changeP99Ms", "ms", "saturated"),
    ...atMost(2, 1),
  },
  "change-saturated-new": {
    group: "changeNew",
    title: "to a state that never was before, saturated",
    ...figure("changeP99Ms", "ms", "saturated"),
    better: "lower",
    isReference: true,
  },
  "change-saturated-floor": {
    group: "change",
    title: "the floor, saturated",
    ...figure("changeP99Ms", "ms", "saturated floor"),
    better: "lower",
    isReference: true,
  },
  churn: {
    group: "churn",
    title: `${MANY_CHANGES.toLocaleString("en")} changes/s of health while saturated: queries/s kept`,
    ...ratio("qps", "changes", "no changes"),
    ...atLeast(0.9, 0.97),
  },
  dgram: {
    group: "dgram",
    title: "dgram fallback: queries/s against the bare C echo",
    ...ratio("qps", "dgram", "echo"),
    ...atLeast(0.16, 0.2),
  },
  "dgram-floor": {
    group: "dgram",
    title: "the same against a bare echo on Node's dgram",
    ...ratio("qps", "dgram", "dgram echo"),
    ...atLeast(0.8, 0.95),
  },
  "tcp-stall": {
    group: "stall",
    title: "200 stalls/s of 5 ms on the TCP thread: p99 latency of UDP against without",
    ...ratio("p99Us", "stalledDriver", "driver"),
    ...atMost(1.2, 1.05),
  },
  memory: {
    group: "memory",
    title: "resident memory, demo zone, one worker",
    ...figure("rssMb", "MB", "livezone"),
    ...atMost(100, 80),
  },
  flood: {
    group: "flood",
    title: `${FLOODED_RATE.toLocaleString("en")} queries/s beside a flood of malformed packets: answered`,
    ...figure("answeredShare", "share", "flooded"),
    ...atLeast(0.999, 0.9999),
  },
};

/** The cases by which two builds are compared, unless others are named. */
export const COMPARED = [
  "a-gdnsd",
  "cookie",
  "nxdomain",
  "zones",
  "allow",
  "rate-limit",
  "dgram",
  "churn",
  "change-idle",
  "change-saturated",
  "memory",
  "cpu",
  "cpu-quiet",
  "cpu-idle",
];

/** `goal`, `pass`, `fail`; for what has no bar `info`, and `missing` where a server is not installed. */
export function verdictOf({ better, bar, goal }, value) {
  if (value === null || !Number.isFinite(value)) return "missing";
  if (bar === undefined) return "info";
  const meets = (limit) => (better === "higher" ? value >= limit : value <= limit);
  if (meets(goal)) return "goal";
  return meets(bar) ? "pass" : "fail";
}
