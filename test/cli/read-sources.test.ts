import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readSources } from "../../src/cli/read-sources.js";
import { prepare } from "../../src/server/load-zones.js";
import { temporaryFolder } from "../support/temp.js";

test("without a server, sources are read all the same; without sources, nobody is asked", async () => {
  const folder = temporaryFolder();
  const file = join(folder, "livezone.yaml");
  writeFileSync(file, "admin: { socket: none.sock }\nzones: [zone.yaml]\n");
  writeFileSync(join(folder, "t.json"), '{"cp1": "192.0.2.11"}');
  const zone = (endpoint: string) => {
    const text = `zone: k8s.example.com\nnameservers: { ns1: 192.0.2.53 }\nendpoints: { api: ${endpoint} }\n`;
    writeFileSync(join(folder, "zone.yaml"), text);
    const [first] = prepare(file).config.zones;
    if (first === undefined) throw new Error("no zone");
    return readSources(first, file);
  };
  expect(await zone("{ targets: { cp1: 192.0.2.11 } }")).toEqual(new Map());
  const now = { candidates: [{ id: "cp1", addresses: ["192.0.2.11"] }] };
  expect([...(await zone("{ discover: [{ type: file, path: t.json }] }"))]).toEqual([
    ["api.k8s.example.com", [{ source: "file:t.json", now }]],
  ]);
});
