import { expect, test } from "vitest";
import { TYPE } from "../../src/wire/constants.js";
import { formatName } from "../../src/wire/name.js";
import { createZoneEndpoint, ownedNames, targetConflict } from "../../src/zone/endpoint.js";
import { sketchZone, zoneConfig } from "../answers/serve.js";

const ZONE = sketchZone({
  endpoints: { api: { cp1: ["192.0.2.11"] }, "other.api": { cp1: ["192.0.2.12"] } },
  records: [
    "alias.api 60 IN CNAME api",
    "fixed.api 60 IN AAAA 2001:db8::1",
    "text.api 60 IN TXT x",
    "cut.api 60 IN NS ns.elsewhere.test.",
  ].join("\n"),
});

test.each([
  ["cp2", undefined],
  ["text", undefined],
  ["alias", "has a record of its own"],
  ["fixed", "has a record of its own"],
  ["other", "is the endpoint other.api.k8s.example.test"],
  ["cut", "is delegated to other servers"],
  ["Upper", "not a host name"],
  ["a.b", "not a host name"],
  ["_tcp", "not a host name"],
  ["*", "not a host name"],
  ["x".repeat(64), "not a host name"],
])("the target %s joins at run time, or is refused: %s", (id, why) => {
  const endpoint = ZONE.endpoints[0];
  if (endpoint === undefined) throw new Error("no endpoint");
  const conflict = targetConflict(ZONE, endpoint, id);
  if (why === undefined) expect(conflict).toBeUndefined();
  else expect(conflict).toContain(why);
});

test("a name that would be too long is refused", () => {
  const name = ["a", "b", "c"].map((letter) => letter.repeat(60)).join(".");
  const zone = sketchZone({ endpoints: { [name]: { cp1: ["192.0.2.11"] } } });
  const endpoint = zone.endpoints[0];
  if (endpoint === undefined) throw new Error("no endpoint");
  expect(targetConflict(zone, endpoint, "x".repeat(63))).toContain("too long");
});

test("an endpoint owns its name, its service, its targets, and its status if that is published", () => {
  const [config] = zoneConfig({ endpoints: { "@": { cp1: ["192.0.2.11"] } } }).endpoints;
  if (config === undefined) throw new Error("no endpoint");
  const owned = (statusRecord: boolean) =>
    ownedNames(createZoneEndpoint({ ...config, statusRecord }, ZONE.name)).map(
      ({ name, types }) => `${formatName(name)} ${types.join(" ")}`,
    );
  const names = ["k8s.example.test. 1 28", "_https._tcp.k8s.example.test. 33", "cp1.k8s.example.test. 1 28"];
  expect(owned(false).sort()).toEqual([...names].sort());
  expect(owned(true).sort()).toEqual([...names, `_status.k8s.example.test. ${TYPE.TXT}`].sort());
});
