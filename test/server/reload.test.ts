import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { UserError } from "../../src/lib/errors.js";
import { ServedEndpoints } from "../../src/server/endpoints.js";
import { type ServerEvent, ServerEvents } from "../../src/server/events.js";
import { prepare } from "../../src/server/load-zones.js";
import type { ThreadPolicy } from "../../src/server/query-policy.js";
import { applyConfiguration, type ConfigurationParts, createReload } from "../../src/server/reload.js";
import type { ServerState } from "../../src/server/state.js";
import type { WorkerPool } from "../../src/transport/worker-pool.js";
import { createFakeClock } from "../support/fake-clock.js";
import { temporaryFolder } from "../support/temp.js";
import { snapshotOf } from "./served.js";

const FQDN = "api.k8s.example.com";

function mainFile(more = ""): string {
  return `listen: ["192.0.2.53:53"]\nzones: [k8s.yaml]\n${more}`;
}

function zoneFile(...targets: readonly string[]): string {
  return `zone: k8s.example.com
nameservers: { ns1: 192.0.2.53, ns2: 192.0.2.54 }
endpoints:
  api:
    targets: { ${targets.map((address, index) => `cp${index + 1}: ${address}`).join(", ")} }
    probe: { type: none }
`;
}

/** A server with files of its own that has taken its first configuration; all targets are always up. */
function setUp(change: { readonly listen?: () => Promise<void>; readonly readPolicy?: () => () => void } = {}) {
  const folder = temporaryFolder();
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  write("livezone.yaml", mainFile());
  write("k8s.yaml", zoneFile("192.0.2.11", "192.0.2.12"));
  const file = join(folder, "livezone.yaml");
  const first = prepare(file);
  const clock = createFakeClock();
  const log = pino({ level: "silent" });
  const events = new ServerEvents(clock, log);
  const seen: ServerEvent[] = [];
  const note = (event: ServerEvent) => void seen.push(event);
  events.subscribe("test", { "zones-replaced": note, reloaded: note, "reload-refused": note });
  const calls: string[] = [];
  const pool = {
    addresses: first.config.listen,
    async listen(at: readonly { address: string; port: number }[], { freeBind }: { freeBind: boolean }) {
      calls.push(`listen ${at.map(({ port }) => port)} freebind ${freeBind}`);
      await change.listen?.();
    },
  } as unknown as WorkerPool;
  const policy = {
    read: change.readPolicy ?? (() => () => void calls.push("policy")),
  } as unknown as ThreadPolicy;
  const nobody = { onZoneAdded: () => {}, onZoneRemoved: () => {}, onChange: () => {} };
  const served = new ServedEndpoints(clock, nobody);
  let picture = snapshotOf({});
  const monitor: ConfigurationParts["monitor"] = {
    configure(endpoints) {
      calls.push("monitor");
      const targets = endpoints.map(
        (one) => [one.fqdn, Object.fromEntries(one.targets.map(({ id, addresses }) => [id, addresses]))] as const,
      );
      picture = snapshotOf(Object.fromEntries(targets));
    },
    snapshot: () => picture,
  };
  const state: ServerState = {
    startedMs: clock.wallMs(),
    started: first.config,
    config: first.config,
    isReady: true,
    isStopping: false,
    listensLater: false,
    lastReload: { atMs: clock.wallMs(), ok: true },
  };
  const discovery = { withLearned: (loaded: ReturnType<typeof prepare>) => loaded };
  const parts: ConfigurationParts = { clock, state, events, pool, policy, served, discovery, monitor };
  applyConfiguration(parts, first, () => {});
  seen.length = 0;
  calls.length = 0;
  return {
    ...{ write, file, state, clock, seen, calls, parts },
    reload: createReload(file, parts),
    answered: () => served.endpoints.get(FQDN)?.answerable.addresses.map(({ address }) => address),
  };
}

describe("a configuration that is good", () => {
  test("is taken as a whole: sockets first, then threads, monitor and answers; who follows is told", async () => {
    const { reload, write, calls, answered, seen, state, clock } = setUp();
    write("k8s.yaml", zoneFile("192.0.2.12", "192.0.2.13"));
    await clock.advance(5_000);
    expect(await reload()).toEqual([]);
    expect(calls).toEqual(["listen 53 freebind false", "policy", "monitor"]);
    expect(answered()).toEqual(["192.0.2.12", "192.0.2.13"]);
    expect(seen.map(({ type }) => type)).toEqual(["zones-replaced", "reloaded"]);
    expect(seen[1]).toMatchObject({ endpoints: 1, listen: ["192.0.2.53:53"], needRestart: [] });
    expect(state.lastReload).toEqual({ atMs: clock.wallMs(), ok: true });
  });

  test("tells what only a restart takes", async () => {
    const { reload, write, seen } = setUp();
    write("livezone.yaml", mainFile("workers: 7\n"));
    await reload();
    expect(seen[1]).toMatchObject({ needRestart: [{ setting: "workers", configured: "7" }] });
  });

  test("leaves the sockets to a start that has yet to open them", async () => {
    const { reload, state, calls } = setUp();
    state.listensLater = true;
    expect(await reload()).toEqual([]);
    expect(calls).toEqual(["policy", "monitor"]);
  });

  test("is read once more for any number of calls while it is read", async () => {
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { reload, calls } = setUp({ listen: () => held });
    const all = [reload(), reload(), reload()];
    release?.();
    expect(await Promise.all(all)).toEqual([[], [], []]);
    expect(calls.filter((call) => call.startsWith("listen"))).toHaveLength(2);
  });
});

describe("a configuration that cannot be taken changes nothing", () => {
  type Server = ReturnType<typeof setUp>;
  const TAKEN = new UserError("cannot listen on 192.0.2.53:53: it is in use", "LISTEN_IN_USE");
  const fails = (error: Error) => () => {
    throw error;
  };

  const cases: readonly {
    readonly name: string;
    readonly change?: Parameters<typeof setUp>[0];
    readonly spoil?: (server: Server) => void;
    readonly says: RegExp;
    readonly problems: number;
  }[] = [
    {
      name: "a mistake in a file, told with its place",
      spoil: ({ write }) => write("k8s.yaml", zoneFile("192.0.2.11").replace("targets", "tragets")),
      says: /k8s\.yaml:4:3: endpoints\.api\.targets is missing\..*\[CONFIG_MISSING\]/s,
      problems: 1,
    },
    {
      name: "a file that is gone",
      spoil: ({ file }) => rmSync(file),
      says: /livezone\.yaml/,
      problems: 1,
    },
    {
      name: "an address that is taken",
      change: { listen: async () => fails(TAKEN)() },
      says: /^cannot listen on 192\.0\.2\.53:53/,
      problems: 0,
    },
    {
      name: "a secret that cannot be read",
      change: { readPolicy: fails(new UserError("cookie secrets cannot be used", "COOKIE")) },
      says: /^cookie secrets cannot be used/,
      problems: 0,
    },
  ];

  test.each(cases)("$name", async ({ change, spoil, says, problems }) => {
    const server = setUp(change);
    const { reload, calls, answered, seen, state, clock } = server;
    const { config } = state;
    server.write("k8s.yaml", zoneFile("192.0.2.13"));
    spoil?.(server);
    await clock.advance(5_000);
    const said = await reload();
    expect(said[0]).toMatch(says);
    expect(calls.filter((call) => !call.startsWith("listen"))).toEqual([]);
    expect(answered()).toEqual(["192.0.2.11", "192.0.2.12"]);
    expect(state.config).toBe(config);
    expect(state.lastReload).toEqual({ atMs: clock.wallMs(), ok: false });
    expect(seen.map(({ type }) => type)).toEqual(["reload-refused"]);
    const [refused] = seen;
    expect(refused?.type === "reload-refused" && refused.problems.length >= problems).toBe(true);
  });
});

describe("a server that is stopping", () => {
  test("takes none", async () => {
    const { reload, state, calls, seen } = setUp();
    state.isStopping = true;
    expect(await reload()).toEqual(["the server is stopping"]);
    expect([calls, seen]).toEqual([[], []]);
  });

  test("takes none either if it began to stop meanwhile", async () => {
    let server: ReturnType<typeof setUp> | undefined;
    server = setUp({
      listen: async () => {
        if (server !== undefined) server.state.isStopping = true;
      },
    });
    server.write("k8s.yaml", zoneFile("192.0.2.13"));
    expect(await server.reload()).toEqual(["the server is stopping"]);
    expect(server.answered()).toEqual(["192.0.2.11", "192.0.2.12"]);
    expect(server.seen).toEqual([]);
  });
});
