import { join } from "node:path";
import { expect, test } from "vitest";
import { type AdminClient, createAdminClient } from "../../src/client/admin.js";
import { ask, askForAddresses } from "../support/dns-client.js";
import { type RunningLivezone, startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { describeWith } from "../support/programs.js";
import { pick, runRandom } from "../support/random.js";
import {
  bindRecipe,
  knotRecipe,
  nsdRecipe,
  type Primary,
  powerdnsRecipe,
  type ServerRecipe,
  unboundRecipe,
} from "../support/recipes.js";
import { startServer } from "../support/servers.js";
import { waitUntil } from "../support/wait.js";

const ZONE = "k8s.example.test";
const LOOPBACK = "127.0.0.1";
const CHANGES = 50;
const IDS = ["cp1", "cp2", "cp3", "cp4", "cp5"];

/** Every name and type that the zone can have records of. */
const RRSETS = [
  { name: ZONE, type: "SOA" },
  { name: ZONE, type: "NS" },
  { name: `ns1.${ZONE}`, type: "A" },
  { name: `registry.${ZONE}`, type: "A" },
  { name: `api.${ZONE}`, type: "A" },
  { name: `_https._tcp.api.${ZONE}`, type: "SRV" },
  ...IDS.map((id) => ({ name: `${id}.api.${ZONE}`, type: "A" })),
];

/** Real servers; how each takes the zone from a primary. */
const SECONDARIES: readonly { readonly program: string; readonly name: string; recipe(from: Primary): ServerRecipe }[] =
  [
    { program: "knotd", name: "Knot", recipe: (from) => knotRecipe({ secondaryZones: { [ZONE]: from } }) },
    { program: "nsd", name: "NSD", recipe: (from) => nsdRecipe({ secondaryZones: { [ZONE]: from } }) },
    { program: "named", name: "BIND", recipe: (from) => bindRecipe({ secondaryZones: { [ZONE]: from } }) },
    {
      program: "pdns_server",
      name: "PowerDNS",
      recipe: (from) => powerdnsRecipe({ secondaryZones: { [ZONE]: from } }),
    },
    { program: "unbound", name: "Unbound", recipe: unbound },
  ];

function unbound({ address, port }: Primary): ServerRecipe {
  return unboundRecipe({
    serverLines: [
      `local-zone: "${ZONE}" transparent`,
      "auth-zone:",
      `name: "${ZONE}"`,
      `primary: ${address}@${port}`,
      `allow-notify: ${address}`,
      "for-downstream: yes",
      "for-upstream: yes",
      "fallback-enabled: no",
    ],
  });
}

function startPrimary(port: number, secondaryPort: number): Promise<RunningLivezone> {
  const targets = IDS.map((id, index) => `${id}: 192.0.2.${11 + index}`).join(", ");
  return startLivezone({
    files: {
      "livezone.yaml": `listen: ["${LOOPBACK}:${port}"]
admin: { socket: admin.sock }
log: { level: debug }
zones: [zone.yaml]
`,
      "zone.yaml": `zone: ${ZONE}
nameservers: { ns1: 192.0.2.53 }
records: |
  registry 300 IN A 192.0.2.20
transfer: { to: ["${LOOPBACK}:${secondaryPort}"] }
endpoints:
  api: { port: 6443, ttl: 30, targets: { ${targets} }, probe: { type: none } }
`,
    },
  });
}

/** Takes targets out and puts them back, at random, but never the last one. */
async function change(admin: AdminClient, times: number): Promise<void> {
  const random = runRandom();
  const down = new Set<string>();
  for (let made = 0; made < times; made += 1) {
    const up = IDS.filter((id) => !down.has(id));
    const id = pick(random, up.length === 1 ? [...down] : IDS);
    const at = `/api/v1/endpoints/api.${ZONE}/targets/${id}`;
    const reply = down.delete(id)
      ? await admin.ask("POST", `${at}/unforce`, {})
      : await admin.ask("POST", `${at}/force`, { health: "down", force: true });
    expect(reply.status).toBe(200);
    if (up.includes(id)) down.add(id);
  }
}

async function recordsOf(port: number): Promise<string[]> {
  const lines: string[] = [];
  for (const question of RRSETS) {
    const { answers } = await ask({ server: LOOPBACK, port, ...question });
    lines.push(...answers.map(({ owner, type, ttl, rdata }) => `${owner} ${ttl} ${type} ${rdata}`.toLowerCase()));
  }
  return lines.sort();
}

const soaOf = (port: number) => askForAddresses({ server: LOOPBACK, port, name: ZONE, type: "SOA" });

for (const { program, name, recipe } of SECONDARIES) {
  describeWith([program], name, () => {
    test(`has every record as livezone has it, after ${CHANGES} changes`, { timeout: 90_000 }, async () => {
      const port = await freePort(LOOPBACK);
      const secondaryPort = await freePort(LOOPBACK);
      const livezone = await startPrimary(port, secondaryPort);
      await startServer({ port: secondaryPort }, recipe({ address: LOOPBACK, port }));
      const isCurrent = async () => {
        const [ours, theirs] = await Promise.all([soaOf(port), soaOf(secondaryPort)]);
        return ours.length === 1 && ours[0] === theirs[0];
      };
      await waitUntil(isCurrent, { timeoutMs: 30_000, describe: `${name} to have the zone` });
      const admin = createAdminClient({ kind: "socket", path: join(livezone.folder, "admin.sock") });
      await change(admin, CHANGES);
      await waitUntil(isCurrent, { timeoutMs: 30_000, describe: `${name} to follow` });
      expect(await recordsOf(secondaryPort)).toEqual(await recordsOf(port));
      // PowerDNS asks for whole zones unless it is told otherwise.
      if (program !== "pdns_server") expect(livezone.logs("changes transferred").length).toBeGreaterThan(0);
      expect(livezone.logs("transfer cut")).toEqual([]);
    });
  });
}
