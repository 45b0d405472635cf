import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SECONDARY_FORMATS, type SecondaryKind } from "../../src/cli/secondary-formats.js";
import { askForAddresses } from "../support/dns-client.js";
import { startLivezone } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { describeWith, requireProgram } from "../support/programs.js";
import type { ServerRecipe } from "../support/recipes.js";
import { startServer } from "../support/servers.js";
import { waitUntil } from "../support/wait.js";

const LOOPBACK = "127.0.0.1";
const CATALOG = "catalog.livezone.test";
const SECRET = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ=";
const ZONES = ["k7s.example.test", "k8s.example.test", "k9s.example.test"] as const;

/** What `livezone delegation --secondary` prints for a server that reads the catalog. */
function printed(kind: SecondaryKind, port: number, isSigned = true): string {
  const key = { name: "corp", algorithm: "hmac-sha256", secret: SECRET } as const;
  const primaries = [{ address: LOOPBACK, port }];
  const setup = { zones: ["not.named.test"], primaries, catalog: CATALOG };
  return SECONDARY_FORMATS[kind].print(isSigned ? { ...setup, key } : setup);
}

const knot = (port: number): ServerRecipe => ({
  program: "knotd",
  args: ({ folder }) => ["-c", join(folder, "knot.conf")],
  files: ({ address, port: own, folder }) => ({
    "knot.conf": `server:
  rundir: "${folder}"
  listen: ${address}@${own}
log:
  - target: stderr
    any: info
database:
  storage: "${folder}"
${printed("knot", port)}`,
  }),
});

const bind = (port: number): ServerRecipe => ({
  program: "named",
  args: ({ folder }) => ["-g", "-n", "1", "-c", join(folder, "named.conf")],
  files: ({ address, port: own, folder }) => {
    const text = printed("bind", port);
    const clause = /^\/\/ (catalog-zones .*)$/m.exec(text)?.[1] ?? "";
    return {
      "named.conf": `options { directory "${folder}"; port ${own}; listen-on { ${address}; }; listen-on-v6 { none; };
  pid-file none; session-keyfile none; recursion no; notify no; dnssec-validation no; ${clause} };
controls { };
${text}`,
    };
  },
});

const POWERDNS_SCHEMA = "/usr/share/doc/pdns-backend-sqlite3/schema.sqlite3.sql";

/** PowerDNS with its SQLite backend, for which the commands are run that livezone prints. It gives members no key. */
const powerdns = (port: number): ServerRecipe => ({
  program: "sh",
  args: ({ folder }) => ["-ec", `. ${join(folder, "start.sh")}`],
  files: ({ address, port: own, folder }) => ({
    "pdns.conf": `launch=gsqlite3
gsqlite3-database=${folder}/pdns.sqlite
gsqlite3-dnssec=yes
local-address=${address}
local-port=${own}
socket-dir=${folder}
daemon=no
guardian=no
secondary=yes
xfr-cycle-interval=1
security-poll-suffix=
cache-ttl=0
query-cache-ttl=0
negquery-cache-ttl=0
zone-cache-refresh-interval=0
`,
    "start.sh": `python3 -c 'import sqlite3; sqlite3.connect("${folder}/pdns.sqlite").executescript(open("${POWERDNS_SCHEMA}").read())'
${printed("powerdns", port, false).replaceAll(/^pdnsutil /gm, `pdnsutil --config-dir=${folder} `)}
exec ${requireProgram("pdns_server")} --config-dir=${folder}
`,
  }),
});

const CONSUMERS = [
  { name: "Knot", programs: ["knotd"], recipe: knot, key: ", key: corp" },
  { name: "BIND", programs: ["named"], recipe: bind, key: ", key: corp" },
  { name: "PowerDNS", programs: ["pdns_server", "pdnsutil", "python3"], recipe: powerdns, key: "" },
] as const;

const zoneFile = (zone: string, secondaryPort: number, key: string): string => `zone: ${zone}
nameservers: { ns1: 192.0.2.53 }
transfer: { to: { address: "${LOOPBACK}:${secondaryPort}"${key} } }
endpoints:
  api: { targets: { cp1: 192.0.2.11 }, probe: { type: none } }
`;

/** Which of the zones a server answers for. */
async function carriedBy(port: number): Promise<string[]> {
  const has = async (zone: string) => {
    const addresses = await askForAddresses({ server: LOOPBACK, port, name: `api.${zone}` }).catch(() => []);
    return addresses[0] === "192.0.2.11" ? [zone] : [];
  };
  return (await Promise.all(ZONES.map(has))).flat();
}

for (const { name, programs, recipe, key } of CONSUMERS) {
  describeWith(programs, name, () => {
    test("learns zones that come and go from the catalog", { timeout: 120_000 }, async () => {
      const [port, secondaryPort] = [await freePort(LOOPBACK), await freePort(LOOPBACK)];
      const [first, second, third] = ZONES;
      const livezone = await startLivezone({
        files: {
          "livezone.yaml": `listen: ["${LOOPBACK}:${port}"]
transfer: { catalog: ${CATALOG}, keys: { corp: { secretFile: corp.tsig } } }
log: { level: debug }
zones: "zones/*.yaml"
`,
          "corp.tsig": SECRET,
          "zones/1.yaml": zoneFile(first, secondaryPort, key),
          "zones/2.yaml": zoneFile(second, secondaryPort, key),
        },
      });
      await startServer({ port: secondaryPort }, recipe(port));
      const carries = (zones: readonly string[]) =>
        waitUntil(async () => JSON.stringify(await carriedBy(secondaryPort)) === JSON.stringify(zones), {
          timeoutMs: 40_000,
          describe: () => `${name} to carry ${zones.join(" and ")}; livezone wrote:\n${livezone.stdout()}`,
        });
      await carries([first, second]);
      livezone.write("zones/3.yaml", zoneFile(third, secondaryPort, key));
      livezone.signal("SIGHUP");
      await carries([first, second, third]);
      rmSync(join(livezone.folder, "zones/1.yaml"));
      livezone.signal("SIGHUP");
      await carries([second, third]);
      expect(livezone.logs("transfer cut")).toEqual([]);
    });
  });
}
