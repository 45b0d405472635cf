import { describe, expect, test } from "vitest";
import { type CutOffState, NOT_CUT_OFF, observeSiblings, ownSight, RECOVERY_MS } from "../../src/health/cut-off.js";
import type { EndpointHealth, Health, ProbePhase, ResultClass } from "../../src/health/health.js";

const CUT: CutOffState = { isCutOff: true };
const RECOVERING: CutOffState = { isCutOff: true, reachedAgainMs: 0 };

describe("cut off, or all down?", () => {
  const cases = [
    {
      name: "a sibling sees some up, here all is down",
      before: NOT_CUT_OFF,
      own: "soft",
      siblings: "some-up",
      is: true,
    },
    {
      name: "no connection to anything, a sibling sees some up",
      before: NOT_CUT_OFF,
      own: "network",
      siblings: "some-up",
      is: true,
    },
    {
      name: "a probe failed, but nothing is down yet",
      before: NOT_CUT_OFF,
      own: "soft",
      siblings: "some-up",
      isSomeDown: false,
      is: false,
    },
    {
      name: "siblings reach their network and see none up",
      before: CUT,
      own: "network",
      siblings: "none-up",
      is: false,
    },
    {
      name: "something refuses, so the network works",
      before: NOT_CUT_OFF,
      own: "reached",
      siblings: "some-up",
      is: false,
    },
    { name: "alone", before: NOT_CUT_OFF, own: "network", siblings: "nobody", is: false },
    { name: "the sibling is lost while cut off: held on", before: CUT, own: "network", siblings: "nobody", is: true },
    { name: "the sibling is cut off as well: held on", before: CUT, own: "network", siblings: "cut-off", is: true },
    { name: "the sibling is lost, and it is not the network", before: CUT, own: "soft", siblings: "nobody", is: false },
    { name: "reached again: held on for a while", before: CUT, own: "reached", siblings: "some-up", is: true },
    {
      name: "reached again for long enough",
      before: RECOVERING,
      own: "reached",
      siblings: "some-up",
      nowMs: RECOVERY_MS,
      is: false,
    },
    { name: "no result at all", before: NOT_CUT_OFF, own: "unknown", siblings: "some-up", is: false },
  ] as const;

  test.each(cases)("$name", ({ before, own, siblings, is, ...more }) => {
    const { nowMs = 1, isSomeDown = true } = more as { nowMs?: number; isSomeDown?: boolean };
    expect(observeSiblings(before, { own, siblings, isSomeDown, nowMs }).isCutOff).toBe(is);
  });

  test("a failure while it recovers starts the time anew", () => {
    const again = observeSiblings(RECOVERING, { own: "soft", siblings: "some-up", isSomeDown: true, nowMs: 5 });
    expect(again).toEqual(CUT);
  });
});

describe("what the newest probes have met", () => {
  const endpoint = (...results: (readonly [ResultClass, ProbePhase?, Health?] | undefined)[]): EndpointHealth => ({
    fqdn: "api",
    targets: results.map((result, index) => ({
      id: `cp${index}`,
      addresses: [
        {
          address: `${index}`,
          health: result?.[2] ?? "up",
          sinceMs: 0,
          ...(result && {
            last: { class: result[0], reason: "", durationMs: 0, ...(result[1] && { phase: result[1] }) },
          }),
        },
      ],
    })),
  });

  test.each([
    ["nothing yet", [undefined], "unknown"],
    ["no connection", [["timeout", "connect"], ["unreachable"]], "network"],
    [
      "a connection without a response",
      [
        ["timeout", "connect"],
        ["timeout", "tls"],
      ],
      "soft",
    ],
    ["a refusal", [["timeout", "connect"], ["refused"]], "reached"],
    ["a pass", [["timeout", "tls"], ["ok"]], "reached"],
  ] as const)("%s", (_, results, own) => {
    expect(ownSight([endpoint(...results)]).own).toBe(own);
  });

  test("tells whether something is down", () => {
    expect(ownSight([endpoint(["timeout", "connect", "down"])]).isSomeDown).toBe(true);
    expect(ownSight([endpoint(["timeout", "connect"])]).isSomeDown).toBe(false);
  });
});
