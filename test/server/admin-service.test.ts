import { describe, expect, test } from "vitest";
import { ReloadRefusedError } from "../../src/admin/service.js";
import type { Config } from "../../src/config/config.js";
import { type AdminServiceParts, createAdminService } from "../../src/server/admin-service.js";
import { createProbeHistory } from "../../src/server/probe-history.js";
import { serveEndpoints, snapshotOf } from "./served.js";

const FQDN = "api.k8s.example.test";
const TARGETS = { cp1: ["192.0.2.11", "2001:db8::11"], cp2: ["192.0.2.12"] };
const NAME = { endpoint: FQDN, target: "cp1" };

function configured(workers: number): Config {
  return { admin: { hostNames: [] }, workers, log: { level: "info" } } as unknown as Config;
}

function setUp(change: Partial<AdminServiceParts> = {}, snapshot = snapshotOf({ [FQDN]: TARGETS }, { down: ["cp2"] })) {
  const { served, clock } = serveEndpoints([{ endpoints: { api: TARGETS } }], snapshot);
  const config = configured(2);
  const state: AdminServiceParts["state"] = {
    startedMs: 5,
    started: config,
    config,
    isReady: true,
    isStopping: false,
    listensLater: false,
    lastReload: { atMs: 7, ok: true },
  };
  const history = createProbeHistory();
  const parts = {
    ...{ clock, state, served, history },
    snapshot: () => snapshot,
    discoveredOf: () => undefined,
    isIsolated: () => false,
    reload: async () => [],
    leave: async (threads: number) => threads + 1,
    ...change,
  } as unknown as AdminServiceParts;
  return { service: createAdminService(parts), state, clock, history };
}

describe("the status", () => {
  test("tells the server's state, and the zones with their endpoints", () => {
    const { service, clock } = setUp();
    expect(service.status()).toMatchObject({
      nowMs: clock.wallMs(),
      startedMs: 5,
      ready: true,
      isolated: false,
      lastReload: { atMs: 7, ok: true },
      needRestart: [],
      zones: [{ zone: "k8s.example.test", endpoints: [{ endpoint: FQDN, answers: TARGETS.cp1 }] }],
    });
    expect(service.status()).not.toHaveProperty("clockSuspect");
  });

  test("follows what changes", () => {
    let isolated = false;
    const { service, state } = setUp({ isIsolated: () => isolated });
    isolated = true;
    state.isReady = false;
    state.config = configured(3);
    expect(service.isReady()).toBe(false);
    expect(service.status()).toMatchObject({
      ready: false,
      isolated: true,
      needRestart: [{ setting: "workers", running: "2", configured: "3" }],
    });
  });

  test("says so when every certificate is not valid yet: then it is this machine's clock", () => {
    const last = {
      class: "tls-expired",
      reason: "r",
      durationMs: 1,
      certificateNames: "DNS:a",
      certificateExpiryMs: 9,
      certificateNotYetValid: true,
    } as const;
    const snapshot = snapshotOf({ [FQDN]: TARGETS }, { last: { cp1: last, cp2: last } });
    expect(setUp({}, snapshot).service.status()).toMatchObject({ clockSuspect: true });
  });
});

describe("one target", () => {
  test("is told with the last results of each of its addresses", async () => {
    const { service, history, clock } = setUp();
    const result = { class: "ok", reason: "status 200", durationMs: 2 } as const;
    history.add(FQDN, "cp1", "192.0.2.11", result, 1);
    history.add(FQDN, "cp1", "192.0.2.11", { ...result, class: "refused" }, 2);
    history.add(FQDN, "cp2", "192.0.2.12", result, 3);
    expect(await service.target(NAME)).toMatchObject({
      endpoint: FQDN,
      nowMs: clock.wallMs(),
      target: { id: "cp1", addresses: [{ address: "192.0.2.11", health: "up" }, { address: "2001:db8::11" }] },
      history: [
        {
          address: "192.0.2.11",
          results: [
            { class: "ok", atMs: 1 },
            { class: "refused", atMs: 2 },
          ],
        },
        { address: "2001:db8::11", results: [] },
      ],
    });
  });

  test("has no moment from which on it can be stopped while it is answered", async () => {
    const { service } = setUp();
    expect(await service.target(NAME)).not.toHaveProperty("safeAtMs");
  });

  test.each([
    { name: "no such endpoint", target: { endpoint: "other.test", target: "cp1" }, code: "NO_SUCH_ENDPOINT" },
    { name: "no such target", target: { endpoint: FQDN, target: "cp9" }, code: "NO_SUCH_TARGET" },
  ])("is refused: $name", async ({ target, code }) => {
    await expect(setUp().service.target(target)).rejects.toMatchObject({ code });
  });
});

describe("a reload", () => {
  test("that was taken tells what is served now, and what waits for a restart", async () => {
    const { service, state } = setUp();
    state.config = configured(3);
    expect(await service.reload()).toEqual({
      zones: 1,
      endpoints: 1,
      needRestart: [{ setting: "workers", running: "2", configured: "3" }],
    });
  });

  test("that was refused throws everything that is wrong, as printed", async () => {
    const problems = ["a.yaml:1:1: one", "a.yaml:2:1: two"];
    const refused = setUp({ reload: async () => problems }).service.reload();
    await expect(refused).rejects.toBeInstanceOf(ReloadRefusedError);
    await expect(refused).rejects.toMatchObject({ problems });
  });
});

test("leaving the port is the takeover's business", async () => {
  expect(await setUp().service.leave(3)).toBe(4);
});
