import { createHash } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { prepare } from "../../src/server/load-zones.js";
import { ThreadPolicy, threadPolicy } from "../../src/server/query-policy.js";
import { temporaryFolder } from "../support/temp.js";

test("isolation flips a flag: nothing is read again, and the threads keep their terms", () => {
  const folder = temporaryFolder();
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const secrets = file("cookies", `${"ab".repeat(16)}\n`);
  file("zone.yaml", "zone: k8s.example.com\nnameservers: { ns1: 192.0.2.53 }\n");
  const main = file(
    "livezone.yaml",
    "zones: [zone.yaml]\nqueries: { cookieSecretFile: cookies, rateLimit: { perSecond: 9 } }\n",
  );
  const { config } = prepare(main);

  const calls: string[] = [];
  const pool = {
    transport: "batch" as const,
    setPolicy: () => void calls.push("policy"),
    setStale: (isStale: boolean) => void calls.push(`stale ${isStale}`),
  };
  const policy = new ThreadPolicy(pool, 1, new Uint8Array(16));
  const apply = policy.read(config);
  expect(calls).toEqual([]);
  apply();
  rmSync(secrets);
  const onIsolation = policy.subscriber()["isolation-changed"];
  onIsolation?.({ type: "isolation-changed", isolated: true }, 0);
  onIsolation?.({ type: "isolation-changed", isolated: false }, 0);
  expect(calls).toEqual(["policy", "stale true", "stale false"]);
  // A reload needs the file, and is refused without it before anything has changed.
  expect(() => policy.read(config)).toThrow(/cookie secrets .* cannot be used/);
});

const SIBLINGS_SECRETS = ["first", "second"].map((text) => createHash("sha256").update(text).digest("hex"));

test("siblings have their cookies in common without a file for them, and a file comes first", () => {
  const folder = temporaryFolder();
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  file("zone.yaml", "zone: k8s.example.com\nnameservers: { ns1: 192.0.2.53 }\n");
  file("cookies", `${"ab".repeat(16)}\n`);
  file("siblings.key", `${SIBLINGS_SECRETS.join("\n")}\n`);
  const secretsOf = (name: string, more = ""): readonly string[] => {
    const siblings = `{ name: ${name}, listen: "192.0.2.53:9854", peers: { ns9: "198.51.100.53:9854" }, secretFile: siblings.key }`;
    const main = file("livezone.yaml", `zones: [zone.yaml]\nsiblings: ${siblings}\n${more}`);
    const { policy } = threadPolicy(prepare(main).config, { transport: "dgram", randomSecret: new Uint8Array(16) });
    return (policy.cookieSecrets ?? []).map((secret) => Buffer.from(secret).toString("hex"));
  };
  const derived = secretsOf("ns1");
  expect(derived).toHaveLength(2);
  expect(derived).toEqual(secretsOf("ns2"));
  for (const secret of derived) {
    expect(secret).toMatch(/^[0-9a-f]{32}$/);
    expect(SIBLINGS_SECRETS.join()).not.toContain(secret);
  }
  expect(secretsOf("ns1", "queries: { cookieSecretFile: cookies }\n")).toEqual(["ab".repeat(16)]);
});
