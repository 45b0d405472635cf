import { beforeAll, expect, test } from "vitest";
import { afterAllTests } from "../support/cleanup.js";
import { ask } from "../support/dns-client.js";
import { type RunningLivezone, startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { describeWith } from "../support/programs.js";
import { type RunningUnbound, startUnbound } from "../support/unbound.js";
import { waitUntil } from "../support/wait.js";

const ZONE = "k8s.example.com";

/** As it comes, with what makes it forget sooner that a server was silent, and with what has it go on trying. */
const SETTINGS = [
  { maxRtt: 1_000, lines: [] },
  { maxRtt: 1_000, lines: ["infra-host-ttl: 1"] },
  // It goes on trying, one question at a time, once it waits 12 s for a server.
  { maxRtt: 12_000, lines: ["infra-keep-probing: yes"] },
] as const;

describeWith(["unbound", "unbound-control"], "Unbound, when a nameserver has been silent for long and is back", () => {
  const cleanup = afterAllTests();
  let livezone: RunningLivezone;
  const unbounds: RunningUnbound[] = [];

  const resolves = async ({ address, port }: RunningUnbound, label: string) => {
    const reply = await ask({ server: address, port, name: `${label}.${ZONE}`, rd: true, timeoutMs: 3_000 });
    return reply.rcode;
  };

  beforeAll(async () => {
    const port = await freePort("127.0.0.1");
    livezone = await startLivezone({
      files: {
        "livezone.yaml": `listen: ["127.0.0.1:${port}"]\nadmin: { socket: admin.sock }\nzones: [zone.yaml]\n`,
        "zone.yaml": `zone: ${ZONE}\nnameservers: { ns1: 192.0.2.53 }\nrecords: |\n  *.w 1 IN A 192.0.2.20\n`,
      },
      cleanup,
    });
    const stubZones = [{ name: ZONE, servers: [{ address: "127.0.0.1", port }] }];
    for (const { maxRtt, lines } of SETTINGS) {
      // 120 s as it comes: the longest that is waited for a server, which is given up when that has been in vain.
      const serverLines = [`infra-cache-max-rtt: ${maxRtt}`, ...lines];
      unbounds.push(await startUnbound({ stubZones, serverLines, cleanup }));
    }
    for (const unbound of unbounds) await waitUntil(async () => (await resolves(unbound, "a.w")) === "NOERROR");
    process.kill(livezone.pid, "SIGSTOP");
    cleanup(() => process.kill(livezone.pid, "SIGCONT"));
    let asked = 0;
    await Promise.all(
      unbounds.map((unbound, index) =>
        waitUntil(
          async () => {
            asked += 1;
            await resolves(unbound, `n${asked}.w`).catch(() => "");
            const infra = await unbound.control("dump_infra");
            return /rto (\d+)/.exec(infra)?.[1] === String(SETTINGS[index]?.maxRtt);
          },
          { timeoutMs: 60_000, everyMs: 100 },
        ),
      ),
    );
    process.kill(livezone.pid, "SIGCONT");
  }, 90_000);

  const title = "both settings make it ask again soon; as it comes, it does not for up to 15 minutes";
  test(title, { timeout: 60_000 }, async () => {
    const [asItComes, short, keeping] = unbounds as [RunningUnbound, RunningUnbound, RunningUnbound];
    let asked = 0;
    const name = () => {
      asked += 1;
      return `back${asked}.w`;
    };
    await waitUntil(async () => (await resolves(short, name())) === "NOERROR");
    await waitUntil(async () => (await resolves(keeping, name())) === "NOERROR", { timeoutMs: 20_000, everyMs: 100 });
    // The first one has had the same time.
    expect(await resolves(asItComes, name())).toBe("SERVFAIL");
    expect(await asItComes.control("dump_infra")).toContain(`${ZONE}. `);
  });
});
