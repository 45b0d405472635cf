import { describe, expect, test } from "vitest";
import { ask, askForAddresses } from "../support/dns-client.js";
import { type RunningLivezone, startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { waitUntil } from "../support/wait.js";
import { type ProbedTarget, type ProbedTargets, startTargets, zoneOf } from "./targets.js";

const ENDPOINT = "api.k8s.example.test";

function mainFile(...listen: readonly string[]): string {
  return `listen: [${listen.map((at) => `"${at}"`).join(", ")}]\nadmin: { http: "127.0.0.1:0" }\nzones: [zones/*.yaml]\n`;
}

const QUICK = "interval: 200ms, timeout: 200ms, recheck: 50ms";

/** No probe fails because this machine is slow; what contradicts the present health is looked at again quickly. */
const PATIENT = "interval: 10s, timeout: 10s, recheck: 50ms";

function zoneFile(port: number, targets: readonly ProbedTarget[], schedule = QUICK): string {
  return zoneOf({ port, targets }, schedule);
}

interface Server {
  readonly livezone: RunningLivezone;
  readonly port: number;
  /** What the endpoint answers now, as target ids. */
  answered(): Promise<string[]>;
  /** Reloads and returns once the log says what came of it. */
  reload(msg?: string): Promise<void>;
  metrics(): Promise<string>;
}

async function startServer(all: ProbedTargets, configured: readonly ProbedTarget[], schedule = QUICK): Promise<Server> {
  const port = await freePort();
  const livezone = await startLivezone({
    files: {
      "livezone.yaml": mainFile(`127.0.0.1:${port}`),
      "zones/k8s.yaml": zoneFile(all.port, configured, schedule),
    },
  });
  return {
    livezone,
    port,
    async answered() {
      const addresses = await askForAddresses({ server: "127.0.0.1", port, name: ENDPOINT });
      return all.targets.filter(({ address }) => addresses.includes(address)).map(({ id }) => id);
    },
    async reload(msg = "configuration reloaded") {
      const before = livezone.logs(msg).length;
      livezone.signal("SIGHUP");
      await waitUntil(() => livezone.logs(msg).length > before, {
        describe: () => `"${msg}"; the log was:\n${livezone.stdout()}${livezone.stderr()}`,
      });
    },
    async metrics() {
      const response = await fetch(`http://${livezone.logs("server started")[0]?.http}/metrics`);
      return response.text();
    },
  };
}

/** Waits until exactly these targets are answered. */
async function untilAnswered(server: Server, ids: readonly string[]): Promise<void> {
  let got: readonly string[] = [];
  await waitUntil(
    async () => {
      got = await server.answered();
      return got.join() === ids.join();
    },
    { describe: () => `${ids} to be answered; it was ${got}` },
  );
}

describe.concurrent("a reload", () => {
  test("keeps the health of targets that stay, and withholds a new one until it has earned its place", async () => {
    const all = await startTargets(["ready", "unready", "hold"]);
    const [cp1, cp2, cp3] = all.targets as [ProbedTarget, ProbedTarget, ProbedTarget];
    const server = await startServer(all, [cp1, cp2], PATIENT);
    expect(await server.answered()).toEqual(["cp1"]);
    const transitions = () => server.livezone.logs().filter(({ from }) => from !== undefined);
    const before = transitions().length;

    server.livezone.write("zones/k8s.yaml", zoneFile(all.port, [cp1, cp2, cp3], PATIENT));
    await server.reload();
    expect(await server.answered()).toEqual(["cp1"]);
    await waitUntil(() => cp3.probes >= 1);
    expect(await server.answered()).toEqual(["cp1"]);
    cp3.release();
    await untilAnswered(server, ["cp1", "cp3"]);
    // cp3 came up; of the others nothing new was concluded.
    expect(transitions().slice(before)).toEqual([
      expect.objectContaining({ msg: "target answered", target: "cp3", from: "unknown" }),
    ]);
    expect(cp3.probes).toBeGreaterThanOrEqual(2);
  });

  test("ends the probes of a target that is removed", async () => {
    const all = await startTargets(["ready", "ready"]);
    const [cp1, cp2] = all.targets as [ProbedTarget, ProbedTarget];
    const server = await startServer(all, [cp1, cp2]);
    expect(await server.answered()).toEqual(["cp1", "cp2"]);
    expect(await server.metrics()).toMatch(/^livezone_target_transitions_total\{.*target="cp1"/m);
    server.livezone.write("zones/k8s.yaml", zoneFile(all.port, [cp2]));
    await server.reload();
    expect(await server.answered()).toEqual(["cp2"]);
    // One that was under way at the reload may have been counted late; none comes after it.
    const [first, second] = [cp1.probes, cp2.probes];
    await waitUntil(() => cp2.probes >= second + 4);
    expect(cp1.probes).toBeLessThanOrEqual(first + 1);
    const metrics = await server.metrics();
    expect(metrics).not.toMatch(/^livezone_\w+\{.*target="cp1"/m);
    expect(metrics).toMatch(/^livezone_target_transitions_total\{.*target="cp2"/m);
  });

  test("of an invalid file keeps the old configuration and says why", async () => {
    const all = await startTargets(["ready", "ready"]);
    const [cp1, cp2] = all.targets as [ProbedTarget, ProbedTarget];
    const server = await startServer(all, [cp1, cp2]);
    const success = "livezone_config_last_reload_success";
    expect(await server.metrics()).toContain(`${success} 1\n`);

    const wrong = zoneFile(all.port, [cp1]).replace("    targets:", "    tragets:");
    server.livezone.write("zones/k8s.yaml", wrong);
    await server.reload("reload refused, the old configuration stays");
    const problems = server.livezone.logs("configuration problem");
    expect(problems.map(({ level }) => level)).toContain("error");
    expect(problems.some(({ at }) => /^zones\/k8s\.yaml:7:5$/.test(String(at)))).toBe(true);
    for (const { message, remedy, code } of problems) {
      expect({ message, remedy, code }).toEqual({
        message: expect.any(String),
        remedy: expect.any(String),
        code: expect.stringMatching(/^CONFIG_/),
      });
    }
    expect(await server.answered()).toEqual(["cp1", "cp2"]);
    expect(await server.metrics()).toContain(`${success} 0\n`);
    // The old configuration lives on: its probes still decide.
    cp1.behaviour = "unready";
    await untilAnswered(server, ["cp2"]);

    server.livezone.write("zones/k8s.yaml", zoneFile(all.port, [cp1, cp2]));
    await server.reload();
    expect(await server.metrics()).toContain(`${success} 1\n`);
    expect(await server.answered()).toEqual(["cp2"]);
  });

  test("loses no query and never answers with nothing", async () => {
    const all = await startTargets(["ready", "ready", "ready"]);
    const [cp1, cp2, cp3] = all.targets as [ProbedTarget, ProbedTarget, ProbedTarget];
    const server = await startServer(all, [cp1, cp2]);
    const at = { server: "127.0.0.1", port: server.port } as const;
    let asking = true;
    const counts = { answers: 0, serials: 0 };
    const askOn = async (transport: "udp" | "tcp") => {
      for (; asking; counts.answers += 1) {
        const { rcode, answers } = await ask({ ...at, name: ENDPOINT, transport });
        expect(rcode).toBe("NOERROR");
        expect(answers.map(({ rdata }) => rdata)).toContain(cp1.address);
      }
    };
    const watchSerial = async () => {
      for (let newest = 0; asking; counts.serials += 1) {
        const { answers } = await ask({ ...at, name: "k8s.example.test", type: "SOA" });
        const serial = Number(answers[0]?.rdata.split(" ")[2]);
        expect(serial).toBeGreaterThanOrEqual(newest);
        newest = serial;
      }
    };
    const asked = Promise.all([askOn("udp"), askOn("udp"), askOn("tcp"), watchSerial()]);
    try {
      for (let i = 0; i < 20; i++) {
        server.livezone.write("zones/k8s.yaml", zoneFile(all.port, i % 2 === 0 ? [cp1, cp3] : [cp1, cp2, cp3]));
        await Promise.race([server.reload(), asked]);
      }
    } finally {
      asking = false;
    }
    await asked;
    expect(server.livezone.logs("configuration reloaded")).toHaveLength(20);
    expect(counts.answers).toBeGreaterThan(20);
    expect(counts.serials).toBeGreaterThan(20);
  });

  test("opens and closes listen addresses, and leaves the others alone", async () => {
    const all = await startTargets(["ready"]);
    const server = await startServer(all, all.targets);
    const [stays, added] = [server.port, await freePort()];
    const answersAt = async (port: number, transport: "udp" | "tcp") =>
      (await askForAddresses({ server: "127.0.0.1", port, name: ENDPOINT, transport })).length > 0;
    await expect(answersAt(added, "tcp")).rejects.toMatchObject({ code: "ECONNREFUSED" });

    server.livezone.write("livezone.yaml", mainFile(`127.0.0.1:${stays}`, `127.0.0.1:${added}`));
    await server.reload();
    for (const transport of ["udp", "tcp"] as const) {
      for (const port of [stays, added]) expect(await answersAt(port, transport)).toBe(true);
    }

    server.livezone.write("livezone.yaml", mainFile(`127.0.0.1:${added}`));
    await server.reload();
    for (const transport of ["udp", "tcp"] as const) {
      expect(await answersAt(added, transport)).toBe(true);
      await expect(answersAt(stays, transport)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    }
  });

  test("that cannot open a listen address changes nothing", async () => {
    const all = await startTargets(["ready", "ready"]);
    const [cp1] = all.targets as [ProbedTarget, ProbedTarget];
    const server = await startServer(all, all.targets);
    const other = await startServer(all, all.targets);
    server.livezone.write("livezone.yaml", mainFile(`127.0.0.1:${server.port}`, `127.0.0.1:${other.port}`));
    server.livezone.write("zones/k8s.yaml", zoneFile(all.port, [cp1]));
    await server.reload("reload refused, the old configuration stays");
    const [line] = server.livezone.logs("reload refused, the old configuration stays");
    expect(line?.error).toMatch(new RegExp(`cannot listen on UDP 127\\.0\\.0\\.1:${other.port}: the port is in use`));
    expect(await server.answered()).toEqual(["cp1", "cp2"]);
    expect(await other.answered()).toEqual(["cp1", "cp2"]);
  });
});

describe.concurrent("watch: true", () => {
  test("reloads by itself: a changed zone, a new one, and one that was wrong at first", async () => {
    const all = await startTargets(["ready", "ready"]);
    const [cp1, cp2] = all.targets as [ProbedTarget, ProbedTarget];
    const port = await freePort();
    const livezone = await startLivezone({
      files: {
        "livezone.yaml": `${mainFile(`127.0.0.1:${port}`)}watch: true\n`,
        "zones/k8s.yaml": zoneFile(all.port, [cp1]),
      },
    });
    const addresses = (name: string) => askForAddresses({ server: "127.0.0.1", port, name }).catch(() => []);

    livezone.write("zones/k8s.yaml", zoneFile(all.port, [cp1, cp2]));
    await waitUntil(async () => (await addresses(ENDPOINT)).length === 2, { describe: "two targets" });

    livezone.write("zones/other.yaml", "zone: other.example.test\n");
    await livezone.waitForLog("reload refused, the old configuration stays");
    expect(await addresses(ENDPOINT)).toHaveLength(2);

    livezone.write("zones/other.yaml", zoneFile(all.port, [cp1]).replace("k8s.example", "other.example"));
    await waitUntil(async () => (await addresses("api.other.example.test")).length === 1, { describe: "the new zone" });
  });
});
