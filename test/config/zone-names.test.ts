import { expect, test } from "vitest";
import { loadWrong, ZONE } from "./folder.js";

const longZone = `${"a".repeat(60)}.${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(50)}.example`;

test.each([
  ["an endpoint and a name server", `${ZONE}  ns1:\n    targets: { x: 192.0.2.13 }\n`, "CONFIG_NAME_TAKEN"],
  ["an endpoint and a target", `${ZONE}  cp1.api:\n    targets: { x: 192.0.2.13 }\n`, "CONFIG_NAME_TAKEN"],
  ["a name that is too long", ZONE.replace("k8s.example.com", longZone), "CONFIG_NAME_TOO_LONG"],
])("%s", (_name, text, code) => {
  expect(loadWrong({ "zone.yaml": text }).map((problem) => problem.code)).toContain(code);
});
