import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { DEMO_ENDPOINT, DEMO_TARGETS, prepareDemo } from "../../src/demo/setup.js";
import { temporaryFolder } from "../support/temp.js";

const TEMPLATES = join(import.meta.dirname, "../../zones/demo");
const ZONE_FILE = "zones/k8s.example.test.yaml";
const read = (...path: string[]) => readFileSync(join(...path), "utf8");

describe("prepareDemo", () => {
  it("copies zones/demo byte by byte and adds the authority, in a folder of the user's own", async () => {
    const folder = join(temporaryFolder(), "demo");
    const { configFile, apiserverPort } = await prepareDemo({ folder, caPem: "the authority" });
    expect(configFile).toBe(join(folder, "livezone.yaml"));
    expect(read(configFile)).toBe(read(TEMPLATES, "livezone.yaml"));
    expect(read(folder, ZONE_FILE)).toBe(read(TEMPLATES, ZONE_FILE));
    expect(read(folder, "ca.crt")).toBe("the authority");
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(parse(read(folder, ZONE_FILE)).endpoints.api.port).toBe(apiserverPort);
  });

  it("agrees with the stand-ins that the demo starts", () => {
    const { zone, endpoints } = parse(read(TEMPLATES, ZONE_FILE));
    expect(`api.${zone}`).toBe(DEMO_ENDPOINT);
    expect(endpoints.api.targets).toEqual(Object.fromEntries(DEMO_TARGETS.map(({ id, address }) => [id, address])));
    expect(endpoints.api.probe).toMatchObject({ ca: "../ca.crt", serverName: DEMO_ENDPOINT });
  });

  it("writes other addresses and ports where asked to, and keeps everything else", async () => {
    const folder = temporaryFolder();
    const setup = {
      listen: "127.0.0.1:6300",
      adminHttp: "127.0.0.1:6301",
      adminSocket: "admin.sock",
      apiserverPort: 6302,
    };
    expect(await prepareDemo({ folder, caPem: "", ...setup })).toMatchObject({ apiserverPort: 6302 });
    const main = parse(read(TEMPLATES, "livezone.yaml"));
    expect(parse(read(folder, "livezone.yaml"))).toEqual({
      ...main,
      listen: ["127.0.0.1:6300"],
      admin: { ...main.admin, http: "127.0.0.1:6301", socket: "admin.sock" },
    });
    const zone = parse(read(TEMPLATES, ZONE_FILE));
    zone.endpoints.api.port = 6302;
    expect(parse(read(folder, ZONE_FILE))).toEqual(zone);
    expect(read(folder, ZONE_FILE)).toContain("# the stand-in apiservers are on loopback");
  });
});
