import { describe, expect, test } from "vitest";
import { ClockSuspicion, isClockSuspect } from "../../src/health/clock-suspicion.js";
import type { ProbeResult, Snapshot } from "../../src/health/health.js";

const withCertificate = { durationMs: 1, certificateExpiryMs: 1, certificateNames: "DNS:api" };
const EARLY: ProbeResult = {
  class: "tls-expired",
  reason: "not yet",
  certificateNotYetValid: true,
  ...withCertificate,
};
const GOOD: ProbeResult = { class: "ok", reason: "status 200", ...withCertificate };
const EXPIRED: ProbeResult = { class: "tls-expired", reason: "expired", ...withCertificate };
const REFUSED: ProbeResult = { class: "refused", reason: "connection refused", durationMs: 1 };

const CASES = [
  { name: "no result", results: [], suspect: false },
  { name: "one that is not valid yet, alone", results: [EARLY], suspect: true },
  { name: "all are not valid yet", results: [EARLY, EARLY, EARLY], suspect: true },
  { name: "one is good", results: [EARLY, GOOD, EARLY], suspect: false },
  { name: "one has expired", results: [EARLY, EXPIRED], suspect: false },
  { name: "one shows no certificate", results: [EARLY, REFUSED, EARLY], suspect: true },
  { name: "none shows a certificate", results: [REFUSED], suspect: false },
] as const;

function snapshotOf(results: readonly ProbeResult[]): Snapshot {
  const targets = results.map((last, index) => ({
    id: `cp${index}`,
    addresses: [{ address: `192.0.2.${index}`, health: "down" as const, sinceMs: 0, last }],
  }));
  return { endpoints: new Map([["api.example.com", { fqdn: "api.example.com", targets }]]) };
}

describe("this machine's clock", () => {
  test.each(CASES)("$name: suspect $suspect", ({ results, suspect }) => {
    const suspicion = new ClockSuspicion();
    for (const [index, result] of results.entries()) suspicion.look(String(index), result);
    expect(suspicion.isSuspected).toBe(suspect);
    expect(isClockSuspect(snapshotOf(results))).toBe(suspect);
  });

  test("is told as suspect, and as good again, once each", () => {
    const suspicion = new ClockSuspicion();
    const told = [EARLY, EARLY, REFUSED, GOOD, GOOD, EARLY].map((result) => suspicion.look("one", result));
    expect(told).toEqual([true, false, false, true, false, true]);
  });

  test("is good again once the addresses are gone that made it suspect", () => {
    const suspicion = new ClockSuspicion();
    suspicion.look("gone", EARLY);
    suspicion.look("kept", EARLY);
    expect(suspicion.forget((key) => key === "kept")).toBe(false);
    expect(suspicion.forget(() => false)).toBe(true);
    expect(suspicion.isSuspected).toBe(false);
  });
});
