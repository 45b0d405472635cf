import { describe, expect, test } from "vitest";
import { allZones } from "../../src/config/catalog.js";
import { buildZone } from "../../src/zone/build.js";
import { loadRight, loadWrong, ZONE } from "./folder.js";

const MAIN = "zones: [zone.yaml, other.yaml]\ntransfer: { catalog: Catalog.Example.net }\n";
const OTHER = ZONE.replace("k8s.example.com", "k9s.example.com");

function catalogOf(first: string, second: string) {
  const { config, warnings } = loadRight({
    "livezone.yaml": MAIN,
    "zone.yaml": `${ZONE}${first}`,
    "other.yaml": `${OTHER}${second}`,
  });
  const { catalog } = config.transfer;
  if (catalog === undefined) throw new Error("there is no catalog");
  return { config, catalog, codes: warnings.map(({ code }) => code) };
}

describe("the catalog zone", () => {
  test("names the zones that may be transferred, and goes to whoever may have one of them", () => {
    const { config, catalog } = catalogOf(
      "transfer: { to: [10.0.0.53, 10.0.0.54] }\n",
      "transfer: { to: 10.0.0.53, allow: 10.1.0.0/16 }\n",
    );
    expect(catalog.zone).toBe("catalog.example.net");
    expect(catalog.records?.text.split("\n")).toEqual([
      'version TXT "2"',
      expect.stringMatching(/^[0-9a-f]{32}\.zones PTR k8s\.example\.com\.$/),
      expect.stringMatching(/^[0-9a-f]{32}\.zones PTR k9s\.example\.com\.$/),
    ]);
    expect(catalog.transfer?.to.map(({ address }) => address)).toEqual(["10.0.0.53", "10.0.0.54"]);
    expect(catalog.transfer?.allow).toHaveLength(1);
    expect(allZones(config).map(({ zone }) => zone)).toEqual([
      "k8s.example.com",
      "k9s.example.com",
      "catalog.example.net",
    ]);
  });

  test("is a zone that can be served", () => {
    const { catalog } = catalogOf("transfer: { to: 10.0.0.53 }\n", "");
    expect(buildZone(catalog).problems).toEqual([]);
    expect(buildZone(catalog).zone?.records.size).toBe(3);
  });

  test("leaves out a zone that nobody may transfer", () => {
    const { catalog } = catalogOf("transfer: { to: 10.0.0.53 }\n", "");
    expect(catalog.records?.text).not.toContain("k9s");
  });

  test("gives a zone the same label whatever else there is", () => {
    const both = catalogOf("transfer: { to: 10.0.0.53 }\n", "transfer: { to: 10.0.0.53 }\n");
    const one = catalogOf("transfer: { to: 10.0.0.53 }\n", "");
    expect(both.catalog.records?.text).toContain(one.catalog.records?.text);
  });

  test("without a member is worth a warning", () => {
    expect(catalogOf("", "").codes).toContain("CONFIG_CATALOG_EMPTY");
  });

  test.each([
    { name: "is a zone already", catalog: "k8s.example.com", code: "CONFIG_ZONE_DUPLICATE" },
    { name: "lies inside a zone", catalog: "catalog.k8s.example.com", code: "CONFIG_ZONE_NESTED" },
    { name: "lies around a zone", catalog: "example.com", code: "CONFIG_ZONE_NESTED" },
    { name: "is no name", catalog: "a..b", code: "CONFIG_NAME" },
  ])("whose name $name is $code", ({ catalog, code }) => {
    const problems = loadWrong({
      "livezone.yaml": `zones: zone.yaml\ntransfer: { catalog: ${catalog} }\n`,
      "zone.yaml": `${ZONE}transfer: { to: 10.0.0.53 }\n`,
    });
    expect(problems.filter(({ severity }) => severity !== "warning").map((problem) => problem.code)).toEqual([code]);
  });
});
