import { expect, test } from "vitest";
import { singleProbes } from "../../src/config/probe-list.js";
import { loadRight, zoneWith } from "./folder.js";

test.each([
  { name: "one probe", probe: "{ type: tcp, port: 1 }", ports: [1] },
  { name: "a list of one", probe: "[{ type: tcp, port: 1 }]", ports: [1] },
  {
    name: "a list",
    probe: "[{ type: tcp, port: 3 }, { type: tcp, port: 1 }, { type: tcp, port: 2 }]",
    ports: [3, 1, 2],
  },
])("$name consists of probes in the order written", ({ probe, ports }) => {
  const { config } = loadRight({ "zone.yaml": zoneWith(`probe: ${probe}`) });
  const built = config.zones[0]?.endpoints[0]?.probe;
  if (built === undefined) throw new Error("there is no endpoint");
  expect(singleProbes(built)).toMatchObject(ports.map((port) => ({ type: "tcp", port })));
});
