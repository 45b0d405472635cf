import { describe, expect, test } from "vitest";
import type { Asking } from "../../src/client/ask.js";
import type { Reply } from "../../src/client/reply.js";
import type { DnsSourceConfig } from "../../src/config/discovery.js";
import { DnsSource } from "../../src/discovery/dns-source.js";
import { afterThisTest } from "../support/cleanup.js";
import { createFakeClock } from "../support/fake-clock.js";

const config: DnsSourceConfig = {
  ...{ type: "dns", name: "dns:cp.example.com", position: { file: "z", line: 1, column: 1 }, query: "cp.example.com" },
  ...{ server: { address: "10.0.0.53", port: 53 }, intervalMs: 30_000, records: ["A"] },
};

interface Answer {
  readonly rcode?: string;
  readonly tc?: boolean;
  readonly ttl?: number;
  readonly data?: readonly string[];
}

function reply({ rcode = "NOERROR", tc = false, ttl = 5, data = [] }: Answer, { name, type }: Asking): Reply {
  const record = (text: string) => ({
    ...{ name, type, ttl, data: text },
    ...(type === "SRV" ? {} : { address: text }),
  });
  return { id: 1, rcode, aa: true, tc, ra: true, answers: data.map(record), authorities: [], additionals: [] };
}

function watch(zone: Record<string, Answer | Error>, more: Partial<DnsSourceConfig> = {}) {
  const clock = createFakeClock();
  const asked: string[] = [];
  const heard: string[] = [];
  const source = new DnsSource(
    { ...config, ...more },
    clock,
    () => 0.5,
    async (asking) => {
      const { name, type, transport = "udp" } = asking;
      asked.push(`${type} ${name} ${transport}`);
      const found = zone[`${type} ${name} ${transport}`] ?? zone[`${type} ${name}`] ?? {};
      if (found instanceof Error) throw found;
      return reply(found, asking);
    },
  );
  source.start({
    proposed: (all) =>
      heard.push(
        all.map(({ id, addresses, port }) => [id, ...addresses, ...(port ? [port] : [])].join(" ")).join("; "),
      ),
    confirmed: () => heard.push("same"),
    failed: ({ problem }) => heard.push(`! ${problem}`),
    credentialRead: () => {},
  });
  afterThisTest(() => source.stop());
  return { clock, asked, heard };
}

describe("a name that is asked for", () => {
  test("proposes its addresses, whatever their order, and is asked for again after the interval", async () => {
    const zone: Record<string, Answer> = { "A cp.example.com": { data: ["192.0.2.2", "192.0.2.1"] } };
    const { clock, heard } = watch(zone);
    await clock.advance(0);
    zone["A cp.example.com"] = { data: ["192.0.2.1", "192.0.2.2"] };
    await clock.advance(30_000);
    zone["A cp.example.com"] = { data: ["192.0.2.3"] };
    await clock.advance(30_000);
    expect(heard).toEqual(["ip-192-0-2-1 192.0.2.1; ip-192-0-2-2 192.0.2.2", "same", "ip-192-0-2-3 192.0.2.3"]);
  });

  test("is left alone for as long as its TTL", async () => {
    const { clock, asked } = watch({ "A cp.example.com": { ttl: 300, data: ["192.0.2.1"] } });
    await clock.advance(299_000);
    expect(asked).toHaveLength(1);
    await clock.advance(2_000);
    expect(asked).toHaveLength(2);
  });

  test("is asked for over TCP when the answer was cut", async () => {
    const { clock, asked, heard } = watch({
      "A cp.example.com udp": { tc: true },
      "A cp.example.com tcp": { data: ["192.0.2.1"] },
    });
    await clock.advance(0);
    expect(asked).toEqual(["A cp.example.com udp", "A cp.example.com tcp"]);
    expect(heard).toEqual(["ip-192-0-2-1 192.0.2.1"]);
  });

  const troubles = [
    { name: "NXDOMAIN", answer: { rcode: "NXDOMAIN" }, says: "NXDOMAIN" },
    { name: "SERVFAIL", answer: { rcode: "SERVFAIL" }, says: "SERVFAIL" },
    { name: "silence", answer: new Error("no answer"), says: "no answer" },
  ] as const;
  test.each(troubles)("$name is a failure, also of one type alone", async ({ answer, says }) => {
    const { clock, heard } = watch(
      { "A cp.example.com": { data: ["192.0.2.1"] }, "AAAA cp.example.com": answer },
      { records: ["A", "AAAA"] },
    );
    await clock.advance(0);
    expect(heard).toEqual([expect.stringMatching(new RegExp(`^! .*${says}`))]);
  });

  test("with SRV records proposes hosts by name, with their ports", async () => {
    const { clock, heard } = watch(
      {
        "SRV cp.example.com": { data: ["0 0 6443 cp1.example.com.", "0 0 6443 cp2.example.com.", "0 0 0 ."] },
        "A cp1.example.com.": { data: ["192.0.2.1"] },
        "AAAA cp1.example.com.": { data: ["2001:db8::1"] },
        "A cp2.example.com.": { data: ["192.0.2.2"] },
      },
      { records: ["SRV"] },
    );
    await clock.advance(0);
    expect(heard).toEqual(["cp1.example.com 192.0.2.1 2001:db8::1 6443; cp2.example.com 192.0.2.2 6443"]);
  });
});
