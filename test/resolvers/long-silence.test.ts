import { beforeAll, expect, test } from "vitest";
import { afterAllTests } from "../support/cleanup.js";
import { ask } from "../support/dns-client.js";
import { type RunningLivezone, startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { describeWith } from "../support/programs.js";
import { type RunningUnbound, startUnbound } from "../support/unbound.js";
import { waitUntil } from "../support/wait.js";

const ZONE = "k8s.example.com";

/** As it comes, and with what makes it forget sooner that a server was silent. */
const SETTINGS = [[], ["infra-host-ttl: 1"]] as const;

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
    for (const lines of SETTINGS) {
      // 120 s as it comes: the longest that is waited for a server, which is given up when that has been in vain.
      const serverLines = ["infra-cache-max-rtt: 1000", ...lines];
      unbounds.push(await startUnbound({ stubZones, serverLines, cleanup }));
    }
    for (const unbound of unbounds) await waitUntil(async () => (await resolves(unbound, "a.w")) === "NOERROR");
    process.kill(livezone.pid, "SIGSTOP");
    cleanup(() => process.kill(livezone.pid, "SIGCONT"));
    let asked = 0;
    await Promise.all(
      unbounds.map((unbound) =>
        waitUntil(
          async () => {
            asked += 1;
            await resolves(unbound, `n${asked}.w`).catch(() => "");
            const infra = await unbound.control("dump_infra");
            return /rto (\d+)/.exec(infra)?.[1] === "1000";
          },
          { timeoutMs: 40_000 },
        ),
      ),
    );
    process.kill(livezone.pid, "SIGCONT");
  }, 60_000);

  test("infra-host-ttl: 1 makes it ask again at once; as it comes, it does not for up to 15 minutes", async () => {
    const [asItComes, short] = unbounds as [RunningUnbound, RunningUnbound];
    let asked = 0;
    const name = () => {
      asked += 1;
      return `back${asked}.w`;
    };
    await waitUntil(async () => (await resolves(short, name())) === "NOERROR");
    // The other one has had the same time.
    expect(await resolves(asItComes, name())).toBe("SERVFAIL");
    expect(await asItComes.control("dump_infra")).toContain(`${ZONE}. `);
  });
});
