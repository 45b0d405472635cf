import { describe, expect, test } from "vitest";
import type { EndpointHealth, Health, ResultClass } from "../../src/health/health.js";
import { vouchedAddresses } from "../../src/health/second-opinion.js";

/** `cp1:up`, `cp2:down/timeout`, `cp3:down/refused!drained`. */
function endpointOf(text: string): EndpointHealth {
  const targets = text.split(" ").map((word) => {
    const [, id = "", health = "", , resultClass, , kind] = /^(\w+):(\w+)(\/([a-z-]+))?(!([a-z-]+))?$/.exec(word) ?? [];
    const last = { class: (resultClass ?? "ok") as ResultClass, reason: "", durationMs: 1 };
    return {
      id,
      addresses: [{ address: id, health: health as Health, sinceMs: 0, last }],
      ...(kind === "drained" ? { override: { kind, origin: "operator", setAtMs: 0 } as const } : {}),
    };
  });
  return { fqdn: "api", targets };
}

describe("what a sibling that sees targets up keeps in the answers", () => {
  // By id: what siblings see up; the rest they see down.
  const cases = [
    { name: "nothing of three, while two are left", health: "cp1:down/timeout cp2:up cp3:up", sees: "cp1", kept: "" },
    {
      name: "the second of three",
      health: "cp1:down/timeout cp2:down/timeout cp3:up",
      sees: "cp1 cp2",
      kept: "cp1 cp2",
    },
    { name: "nothing of two, while one is left", health: "cp1:down/timeout cp2:up", sees: "cp1", kept: "" },
    { name: "the last of two", health: "cp1:down/timeout cp2:down/reset", sees: "cp1 cp2", kept: "cp1 cp2" },
    { name: "the only one", health: "cp1:down/timeout", sees: "cp1", kept: "cp1" },
    { name: "nothing that refuses", health: "cp1:down/refused", sees: "cp1", kept: "" },
    { name: "nothing that is not ready", health: "cp1:down/not-ready", sees: "cp1", kept: "" },
    { name: "nothing that it sees down too", health: "cp1:down/timeout", sees: "", kept: "" },
    { name: "nothing for longer than it may", health: "cp1:down/timeout", sees: "cp1", downForMs: 10_000, kept: "" },
    {
      name: "as long as it lasts when cut off",
      health: "cp1:down/timeout cp2:down/timeout cp3:down/timeout",
      sees: "cp1 cp2 cp3",
      downForMs: 1e9,
      isCutOff: true,
      kept: "cp1 cp2 cp3",
    },
    {
      name: "nothing that refuses, cut off or not",
      health: "cp1:down/refused cp2:down/timeout",
      sees: "cp1 cp2",
      isCutOff: true,
      kept: "cp2",
    },
    {
      name: "more if minHealthy asks for more",
      health: "cp1:down/timeout cp2:up cp3:up",
      sees: "cp1",
      minHealthy: 3,
      kept: "cp1",
    },
    { name: "nothing that is drained", health: "cp1:down/timeout!drained", sees: "cp1", kept: "" },
    {
      name: "drained ones are not counted as left",
      health: "cp1:down/timeout cp2:up!drained cp3:up",
      sees: "cp1",
      kept: "",
    },
    {
      name: "at the start, what has no result yet",
      health: "cp1:unknown cp2:unknown",
      sees: "cp1",
      isStarting: true,
      kept: "cp1",
    },
    { name: "later, nothing that has no result", health: "cp1:unknown", sees: "cp1", kept: "" },
  ] as const;

  test.each(cases)("$name", ({ health, sees, kept, ...more }) => {
    const {
      downForMs = 0,
      minHealthy = 1,
      isCutOff = false,
      isStarting = false,
    } = more as { downForMs?: number; minHealthy?: number; isCutOff?: boolean; isStarting?: boolean };
    const vouched = vouchedAddresses(
      endpointOf(health),
      { minHealthy },
      {
        sees: (address) => (sees.split(" ").includes(address) ? "up" : "down"),
        downForMs: () => downForMs,
        holdAtMostMs: 10_000,
        isCutOff,
        isStarting,
      },
    );
    expect(vouched.map(({ address }) => address).join(" ")).toBe(kept);
  });
});
