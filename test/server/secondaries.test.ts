import { join } from "node:path";
import { expect, test } from "vitest";
import { prepare } from "../../src/server/load-zones.js";
import { notifiedSecondaries, notifying } from "../../src/server/secondaries.js";
import { Notifier } from "../../src/transfer/notifier.js";
import { parseName } from "../../src/wire/name.js";
import { folderWith, MAIN, ZONE } from "../config/folder.js";
import { createFakeClock } from "../support/fake-clock.js";
import { answerWith, liveZone } from "../transfer/zones.js";

const SECRET = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ=";

function configured(transfer: string, main = "") {
  const folder = folderWith({
    "livezone.yaml": `${MAIN}transfer: { keys: { corp: { secretFile: corp.tsig } }${main} }\n`,
    "zone.yaml": `${ZONE.replace("k8s.example.com", "k8s.example.test")}${transfer}`,
    "corp.tsig": SECRET,
  });
  return prepare(join(folder, "livezone.yaml")).config;
}

test("those under `to` are told, with their port, key and interval; those under `allow` are not", () => {
  const config = configured(
    'transfer: { to: ["10.0.0.53:5353", { address: "2001:db8::53", key: corp }], allow: 10.1.0.0/16, notify: { minInterval: 1s } }\n',
  );
  expect([...notifiedSecondaries(config)]).toEqual([
    [
      parseName("k8s.example.test"),
      {
        secondaries: [
          { address: "10.0.0.53", port: 5353 },
          { address: "2001:db8::53", port: 53, key: parseName("corp") },
        ],
        minIntervalMs: 1_000,
      },
    ],
  ]);
  expect(notifiedSecondaries(configured("transfer: { allow: 10.1.0.0/16 }\n")).size).toBe(0);
});

test("whoever is told of a zone is told of the catalog, and may go without it", () => {
  const notified = notifiedSecondaries(configured("transfer: { to: 10.0.0.53 }\n", ", catalog: catalog.test"));
  expect(notified.get(parseName("k8s.example.test"))?.isOptional).toBeUndefined();
  expect(notified.get(parseName("catalog.test"))).toMatchObject({
    secondaries: [{ address: "10.0.0.53" }],
    isOptional: true,
  });
});

test("changes are told once queries are answered, until the zone is removed", async () => {
  const clock = createFakeClock();
  const sent: string[] = [];
  const sources: unknown[] = [];
  const notifier = new Notifier({
    clock,
    random: () => 0,
    keyOf: () => undefined,
    send: ({ address }, message) => void sent.push(`${(message[2] ?? 0) >> 3} ${address}`),
    onTrouble() {},
  });
  const subscriber = notifying(notifier, { setSource: (listen) => void sources.push(listen) });
  const config = configured("transfer: { to: 10.0.0.53 }\n");
  const zone = liveZone();
  const change = (up: readonly string[]): void => {
    const made = answerWith(zone, up);
    if (made !== undefined) subscriber["zone-changed"]?.({ type: "zone-changed", change: made }, 0);
  };
  subscriber["zone-added"]?.({ type: "zone-added", zone }, 0);
  subscriber["zones-replaced"]?.({ type: "zones-replaced", config }, 0);
  change(["cp1"]);
  await clock.advance(100);
  expect(sent).toEqual([]);
  subscriber.ready?.({ type: "ready", isComplete: true, endpoints: [] }, 0);
  await clock.advance(250);
  change(["cp2"]);
  expect(sent).toEqual(["4 10.0.0.53", "4 10.0.0.53"]);
  expect(sources).toEqual([config.listen]);
  subscriber["zone-removed"]?.({ type: "zone-removed", zone: zone.zone.name }, 0);
  change(["cp3"]);
  await clock.advance(60_000);
  expect(sent).toHaveLength(2);
});
