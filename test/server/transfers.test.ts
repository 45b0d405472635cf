import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { prepare } from "../../src/server/load-zones.js";
import { readTransferPolicy, zoneJournals } from "../../src/server/transfers.js";
import { TransferService } from "../../src/transfer/service.js";
import { TYPE } from "../../src/wire/constants.js";
import { parseName } from "../../src/wire/name.js";
import { folderWith, MAIN, ZONE } from "../config/folder.js";
import { createFakeClock } from "../support/fake-clock.js";
import { answerWith, liveZone } from "../transfer/zones.js";

const SECRET = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ=";

test("who may transfer is read with the secrets, and not at all where nobody may", () => {
  const folder = folderWith({
    "livezone.yaml": `${MAIN}transfer: { keys: { corp: { secretFile: corp.tsig } } }\n`,
    "zone.yaml": `${ZONE}transfer: { to: ["10.0.0.53:5353", { address: "2001:db8::53", key: corp }], allow: 10.1.0.0/16 }\n`,
    "corp.tsig": SECRET,
  });
  const { config } = prepare(join(folder, "livezone.yaml"));
  const policy = readTransferPolicy(config);
  const corp = parseName("corp");
  expect(policy?.keys.get(corp)?.secret).toEqual(Uint8Array.from(Buffer.from(SECRET, "base64")));
  expect(policy?.zones.get(parseName("k8s.example.com"))).toEqual([
    { octets: Uint8Array.of(10, 0, 0, 53), bits: 32 },
    { octets: expect.any(Uint8Array), bits: 128, key: corp },
    { octets: Uint8Array.of(10, 1, 0, 0), bits: 16 },
  ]);
  rmSync(join(folder, "corp.tsig"));
  expect(() => readTransferPolicy(config)).toThrow(/corp.tsig cannot be used: there is no such file/);
  expect(readTransferPolicy(prepare(join(folderWith({}), "livezone.yaml")).config)).toBeUndefined();
});

test("journals follow the zones: added, changed, limited, removed", () => {
  const kinds: string[] = [];
  const service = new TransferService({
    clock: createFakeClock(),
    onFinished: ({ kind }) => kinds.push(kind),
    onError() {},
  });
  const journals = zoneJournals(service);
  const live = liveZone();
  const { config } = prepare(
    join(
      folderWith({
        "zone.yaml": `${ZONE.replace("k8s.example.com", "k8s.example.test")}transfer: { to: 10.0.0.53, versions: 1 }\n`,
      }),
      "livezone.yaml",
    ),
  );
  journals["zone-added"]?.({ type: "zone-added", zone: live }, 0);
  journals["zones-replaced"]?.({ type: "zones-replaced", config }, 0);
  for (const up of [["cp1"], ["cp2"]]) {
    const change = answerWith(live, up);
    if (change !== undefined) journals["zone-changed"]?.({ type: "zone-changed", change }, 0);
  }
  const ask = (serial: number): void => {
    const request = { id: 1, zone: live.zone.name, type: TYPE.IXFR, serial, rd: false, hasEdns: false, client: "::1" };
    service.begin(request, () => {}).end(true);
  };
  ask(live.serial - 1);
  ask(live.serial - 2);
  journals["zone-removed"]?.({ type: "zone-removed", zone: live.zone.name }, 0);
  ask(live.serial - 1);
  expect(kinds).toEqual(["ixfr", "axfr"]);
});
