import { expect, test } from "vitest";
import {
  type MonitoredAddress,
  noteResult,
  updateView,
  withCertificateNote,
} from "../../src/health/monitored-address.js";
import { knownState } from "../../src/health/state.js";
import { createFakeClock } from "../support/fake-clock.js";
import { HTTPS } from "./monitor-harness.js";

const RESULT = { class: "ok", reason: "status 200", durationMs: 1 } as const;

function address(): MonitoredAddress {
  const view = { fqdn: "api", target: "cp1", address: "192.0.2.1", health: "up" as const, sinceMs: 7 };
  return { view, config: HTTPS, state: knownState("up"), dueMs: 0, isAwaited: false };
}

test("refusals in a row are counted from the first", () => {
  const one = address();
  noteResult(one, "refused", 100);
  noteResult(one, "refused", 300);
  expect(one.newest).toEqual({ class: "refused", endedMs: 300, refusedSinceMs: 100 });
  noteResult(one, "timeout", 900);
  noteResult(one, "refused", 1000);
  expect(one.newest).toEqual({ class: "refused", endedMs: 1000, refusedSinceMs: 1000 });
});

test("a change that is held back does not show, and has its own moment once it does", () => {
  const clock = createFakeClock();
  const one = address();
  one.state = knownState("down");
  const change = { from: "up", to: "down", afterMs: 0 } as const;
  one.unpublished = { change, result: RESULT, changedMs: 0 };
  updateView(one, clock, true);
  expect(one.view).toMatchObject({ health: "up", sinceMs: 7 });
  delete one.unpublished;
  updateView(one, clock, true);
  expect(one.view).toMatchObject({ health: "down", sinceMs: clock.wallMs() });
});

test("a certificate that does not cover the endpoint is noted if the probe asked for another name", () => {
  const one = address();
  const { serverName: _, ...rest } = HTTPS as typeof HTTPS & { serverName: string };
  one.config = { ...rest, serverName: "other" } as typeof HTTPS;
  const bad = withCertificateNote(one, { ...RESULT, certificateNames: "DNS:other" });
  expect(bad.reason).toBe("status 200; the certificate is not for api");
  expect(withCertificateNote(one, { ...RESULT, certificateNames: "DNS:other, DNS:api" }).reason).toBe("status 200");
  expect(withCertificateNote(one, RESULT).reason).toBe("status 200");
});
