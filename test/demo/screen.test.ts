import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { type DemoState, ENTER_SCREEN, LEAVE_SCREEN, paint, renderEvent, renderScreen } from "../../src/demo/screen.js";

// Local time, as the screen shows it.
const NOW_MS = new Date(2026, 0, 2, 15, 4, 5, 678).getTime();

const STATE: DemoState = {
  name: "api.k8s.example.test",
  address: "127.0.0.1",
  port: 5300,
  statusUrl: "http://127.0.0.1:9853",
  nowMs: NOW_MS,
  targets: [
    { id: "cp1", address: "127.0.0.11", health: "up", sinceMs: NOW_MS - 7_500_000, apiserver: "running", reason: "ok" },
    {
      id: "cp2",
      address: "127.0.0.12",
      health: "down",
      sinceMs: NOW_MS - 3_400,
      apiserver: "crashed",
      reason: "connection refused",
    },
    { id: "cp3", address: "127.0.0.13", health: "unknown", sinceMs: NOW_MS - 65_000, apiserver: "unready" },
  ],
  selected: 1,
  answer: { kind: "addresses", addresses: ["127.0.0.11", "127.0.0.13"], ttl: 5, tookMs: 0.42 },
  failOpen: false,
  events: [
    { atMs: NOW_MS - 3_631, target: "cp2", kind: "crash" },
    { atMs: NOW_MS - 3_400, target: "cp2", kind: "withdrawn", tookMs: 231, reason: "connection refused" },
  ],
};

describe("renderScreen", () => {
  it("shows targets, the answer, what happened and the keys", () => {
    expect(renderScreen(STATE)).toBe(
      `livezone demo  api.k8s.example.test  on 127.0.0.1:5300  http://127.0.0.1:9853

     target  address     health   since  apiserver  last probe
  1  cp1     127.0.0.11  up       2h05m  running    ok
> 2  cp2     127.0.0.12  down     3s     crashed    connection refused
  3  cp3     127.0.0.13  unknown  1m05s  unready    not probed yet

The name answers now: 127.0.0.11  127.0.0.13  (TTL 5 s, asked in 0.4 ms)
Ask it yourself: dig @127.0.0.1 -p 5300 api.k8s.example.test

15:04:02.047  cp2  crashed by you
15:04:02.278  cp2  left the answer after 231 ms: connection refused

1-3 select   c crash   h hang   u unready   r revive   q quit`,
    );
  });

  it("has the same text with colours", () => {
    const coloured = renderScreen(STATE, { colour: true });
    expect(stripVTControlCharacters(coloured)).toBe(renderScreen(STATE));
    expect(coloured).toContain("\x1b[31mcrashed\x1b[0m");
    expect(coloured).toContain("\x1b[32mrunning\x1b[0m");
    expect(renderScreen(STATE)).not.toContain("\x1b");
  });

  for (const colour of [false, true]) {
    it(`keeps to any width and height ${colour ? "with" : "without"} colours`, () => {
      for (const width of [1, 20, 30, 60, 200]) {
        for (const height of [1, 8, 12, 100]) {
          const lines = stripVTControlCharacters(renderScreen(STATE, { width, height, colour })).split("\n");
          expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
          expect(lines.length).toBeLessThanOrEqual(height);
        }
      }
    });
  }

  const many = Array.from({ length: 20 }, (_, i) => ({ atMs: NOW_MS + i, target: `t${i}`, kind: "hang" as const }));
  const all = { kind: "addresses", addresses: ["127.0.0.11", "127.0.0.12", "127.0.0.13"], ttl: 5, tookMs: 1 } as const;

  it("shows in a low terminal targets, the answer and the newest events", () => {
    expect(renderScreen({ ...STATE, answer: all, events: many }, { width: 60, height: 12 })).toBe(
      `livezone demo  api.k8s.example.test  on 127.0.0.1:5300  http
     target  address     health   since  apiserver  last pro
  1  cp1     127.0.0.11  up       2h05m  running    ok
> 2  cp2     127.0.0.12  down     3s     crashed    connecti
  3  cp3     127.0.0.13  unknown  1m05s  unready    not prob
The name answers now: 127.0.0.11  127.0.0.12  127.0.0.13  (T
Ask it yourself: dig @127.0.0.1 -p 5300 api.k8s.example.test
15:04:05.694  t16  hung by you
15:04:05.695  t17  hung by you
15:04:05.696  t18  hung by you
15:04:05.697  t19  hung by you
1-3 select  c crash  h hang  u unready  r revive  q quit`,
    );
  });

  it("shows in a tiny terminal targets, the whole answer and the keys", () => {
    expect(renderScreen({ ...STATE, answer: all, events: many }, { width: 30, height: 8 })).toBe(
      `livezone demo  api.k8s.example
     target  health   apiserve
  1  cp1     up       running
> 2  cp2     down     crashed
  3  cp3     unknown  unready
Answer: 127.0.0.11 127.0.0.12
 127.0.0.13
1-3 c h u r q`,
    );
  });

  it("shows how to operate the server, and a word on the last key", () => {
    const shown = renderScreen({ ...STATE, command: "livezone status --admin x", hint: "cp2 is crashed already." });
    expect(shown).toContain("\nOperate it: livezone status --admin x\n");
    expect(shown).toContain("\ncp2 is crashed already.\n1-3 select");
    const tiny = renderScreen({ ...STATE, hint: "cp2 is crashed already." }, { width: 40, height: 8 });
    expect(tiny).toContain("\ncp2 is crashed already.\n1-3");
  });

  const answers: { name: string; state: Partial<DemoState>; shown: string }[] = [
    {
      name: "no answer",
      state: { answer: { kind: "none", why: "no answer within 1 s" } },
      shown: "now: no answer within 1 s\n",
    },
    {
      name: "an answer without addresses",
      state: { answer: { kind: "addresses", addresses: [], ttl: 5, tookMs: 1 } },
      shown: "now: no address\n",
    },
    {
      name: "fail-open",
      state: { failOpen: true },
      shown: "\nAll targets are down, so all are answered (fail-open).\n",
    },
    { name: "that nothing has happened", state: { events: [] }, shown: "\nNothing has happened yet: press c" },
  ];
  for (const { name, state, shown } of answers) {
    it(`says ${name}`, () => expect(renderScreen({ ...STATE, ...state })).toContain(shown));
  }

  it("says that nothing was asked yet", () => {
    const { answer: _, ...unasked } = STATE;
    expect(renderScreen(unasked)).toContain("now: not asked yet\n");
  });

  it("shows only the newest events", () => {
    const events = Array.from({ length: 30 }, (_, i) => ({ atMs: NOW_MS + i, target: `t${i}`, kind: "hang" as const }));
    const shown = renderScreen({ ...STATE, events }, { events: 3 }).match(/t\d+(?= {2}hung by you)/g);
    expect(shown).toEqual(["t27", "t28", "t29"]);
  });

  it("lets nothing that a server sent steer the terminal", () => {
    const reason = "\x1b[2Jgone\r\n\x07\u009b31m";
    const targets = STATE.targets.map((target) => ({ ...target, reason }));
    const screen = renderScreen({ ...STATE, targets });
    expect(screen.match(/[^\x20-\x7e\n]/g)).toBeNull();
    expect(screen).toContain("?[2Jgone????31m");
  });
});

describe("renderEvent", () => {
  it("is one line, however long", () => {
    const reason = "x".repeat(300);
    const event = { atMs: NOW_MS, target: "cp1", kind: "restored", tookMs: 2_345, reason } as const;
    expect(renderEvent(event)).toBe(`15:04:05.678  cp1  came into the answer after 2.35 s: ${reason}`);
  });
});

describe("paint", () => {
  it("draws from the top left, clears the rest of each line and what is below", () => {
    expect(paint("a\nbc")).toBe("\x1b[Ha\x1b[K\r\nbc\x1b[K\x1b[J");
  });

  it("hides the cursor on the way in and shows it on the way out", () => {
    expect([ENTER_SCREEN, LEAVE_SCREEN]).toEqual(["\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"]);
  });
});
