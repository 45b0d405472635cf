import { describe, expect, test } from "vitest";
import type { EndpointHealth } from "../../src/health/health.js";
import { statusStrings } from "../../src/server/status-record.js";
import { startTargets } from "../app/targets.js";
import { ask } from "../support/dns-client.js";
import { startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { waitUntil } from "../support/wait.js";

const SINCE = Date.UTC(2026, 2, 14, 9, 26, 53, 589);

function endpoint(reason: string): EndpointHealth {
  const last = { class: "refused", reason, durationMs: 1 } as const;
  return {
    fqdn: "api.k8s.example.com",
    targets: [
      { id: "cp1", addresses: [{ address: "192.0.2.11", health: "down", sinceMs: SINCE, last }] },
      { id: "cp2", addresses: [{ address: "2001:db8::12", health: "unknown", sinceMs: SINCE }] },
    ],
  };
}

describe("the status record", () => {
  test("says of each address what is thought of it, since when and why", () => {
    expect(statusStrings(endpoint("connection refused"))).toEqual([
      "cp1 192.0.2.11 down since 2026-03-14T09:26:53Z: connection refused",
      "cp2 2001:db8::12 unknown since 2026-03-14T09:26:53Z: not probed yet",
    ]);
  });

  test("holds nothing but printable ASCII, 255 octets at most", () => {
    const [first = ""] = statusStrings(endpoint(`\u0007é${"x".repeat(300)}`));
    expect(first).toMatch(/^[\x20-\x7e]{255}$/);
  });

  test("follows health, and is not there unless it is asked for", async () => {
    const port = await freePort();
    const { targets, port: targetPort } = await startTargets(["ready", "ready"]);
    const zone = (statusRecord: boolean, name: string) => `zone: ${name}
allowSpecialAddresses: true
nameservers: { ns1: 127.0.0.1 }
endpoints:
  api:
    port: ${targetPort}
    statusRecord: ${statusRecord}
    targets: { ${targets.map(({ id, address }) => `${id}: ${address}`).join(", ")} }
    probe: { type: http, interval: 200ms }
`;
    await startLivezone({
      files: {
        "livezone.yaml": `listen: ["127.0.0.1:${port}"]\nzones: [zones/*.yaml]\n`,
        "zones/a.yaml": zone(true, "a.example.test"),
        "zones/b.yaml": zone(false, "b.example.test"),
      },
    });
    const status = async (name: string) => ask({ server: "127.0.0.1", port, name: `_status.api.${name}`, type: "TXT" });
    expect((await status("a.example.test")).answers[0]?.rdata).toMatch(/cp1 .* up since .*cp2 .* up since /);
    expect(await status("b.example.test")).toMatchObject({ rcode: "NXDOMAIN" });
    const [first] = targets;
    if (first !== undefined) first.behaviour = "unready";
    await waitUntil(
      async () => /cp1 \S+ down since .*not ready/.test((await status("a.example.test")).answers[0]?.rdata ?? ""),
      { describe: "cp1 to be down" },
    );
  });
});
