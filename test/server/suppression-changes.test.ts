import { expect, test } from "vitest";
import type { EndpointHealth } from "../../src/health/health.js";
import { SuppressionWatch } from "../../src/server/suppression-changes.js";

const FQDN = "api.k8s.example.com";

/** Targets by id; those with `true` are suppressed. */
function health(targets: Readonly<Record<string, boolean>>): EndpointHealth {
  return {
    fqdn: FQDN,
    targets: Object.entries(targets).map(([id, isSuppressed]) => ({
      id,
      addresses: [
        {
          address: `${id}-address`,
          health: "down",
          sinceMs: 0,
          ...(isSuppressed && { held: { untilMs: 9, changes: 4 } }),
        },
      ],
    })),
  };
}

test("the begin and the end of a suppression are told once each, also when the target or the endpoint goes", () => {
  const watch = new SuppressionWatch();
  const told = (now: EndpointHealth | undefined): string[] =>
    watch.look(FQDN, now).map(({ target, isSuppressed }) => `${target} ${isSuppressed}`);
  expect(told(health({ cp1: false, cp2: false }))).toEqual([]);
  expect(watch.look(FQDN, health({ cp1: true, cp2: false }))).toEqual([
    { fqdn: FQDN, target: "cp1", address: "cp1-address", isSuppressed: true, untilMs: 9, changes: 4 },
  ]);
  expect(told(health({ cp1: true, cp2: true }))).toEqual(["cp2 true"]);
  expect(told(health({ cp1: false, cp2: true }))).toEqual(["cp1 false"]);
  expect(told(undefined)).toEqual(["cp2 false"]);
  expect(told(undefined)).toEqual([]);
});
