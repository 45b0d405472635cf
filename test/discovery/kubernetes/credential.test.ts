import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createAuthority } from "../../../src/demo/certificates.js";
import { readKubeconfig, readServiceAccount } from "../../../src/discovery/kubernetes/credential.js";
import { temporaryFolder } from "../../support/temp.js";

const { caPem, issue } = await createAuthority();
const DAY_MS = 86_400_000;

/** Writes a kubeconfig and what it names. */
function write(cluster: object, user: object, files: Readonly<Record<string, string>> = {}): string {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const file = join(folder, "kubeconfig");
  const config = {
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
    clusters: [{ name: "k", cluster: { server: "https://192.0.2.1:6443", ...cluster } }],
    users: [{ name: "u", user }],
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const tokenOf = (claims: object): string => `h.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.s`;

describe("a kubeconfig", () => {
  test("with data in it", async () => {
    const { certPem, keyPem } = await issue({ names: ["livezone"], clientAuth: true });
    const file = write(
      { "certificate-authority-data": base64(caPem), "tls-server-name": "kubernetes" },
      { "client-certificate-data": base64(certPem), "client-key-data": base64(keyPem) },
    );
    expect(await readKubeconfig(file)).toMatchObject({
      ...{ host: "192.0.2.1", port: 6443, serverName: "kubernetes", ca: caPem },
      client: { cert: certPem, key: keyPem },
      validity: { endsAtMs: expect.any(Number) },
    });
  });

  test("with files beside it, read anew each time", async () => {
    const file = write(
      { server: "https://[2001:db8::1]", "certificate-authority": "ca.crt" },
      { tokenFile: "token" },
      { "ca.crt": caPem, token: "one\n" },
    );
    expect(await readKubeconfig(file)).toMatchObject({ host: "2001:db8::1", port: 443, ca: caPem, token: "one" });
    writeFileSync(join(file, "../token"), "two");
    expect(await readKubeconfig(file)).toMatchObject({ token: "two" });
  });

  test("tells 14 days before a credential ends, and a tenth of its life for one that is renewed by a program", async () => {
    const ends = Date.UTC(2027, 0, 1);
    const warnBefore = async (lifeMs: number): Promise<number | undefined> => {
      const token = tokenOf({ iat: (ends - lifeMs) / 1_000, exp: ends / 1_000 });
      const { validity } = await readKubeconfig(write({}, { token }));
      return validity && validity.endsAtMs - validity.warnFromMs;
    };
    expect(await warnBefore(365 * DAY_MS)).toBe(14 * DAY_MS);
    expect(await warnBefore(10 * DAY_MS)).toBe(DAY_MS);
    expect((await readKubeconfig(write({}, { token: "opaque" }))).validity).toBeUndefined();
  });

  const bad = [
    { name: "exec", cluster: {}, user: { exec: { command: "aws" } }, says: "exec" },
    { name: "OIDC", cluster: {}, user: { "auth-provider": { name: "oidc" } }, says: "OIDC" },
    { name: "a password", cluster: {}, user: { username: "a", password: "hunter2" }, says: "password" },
    { name: "impersonation", cluster: {}, user: { token: "t", as: "root" }, says: "somebody else" },
    {
      name: "no verification",
      cluster: { "insecure-skip-tls-verify": true },
      user: { token: "t" },
      says: "verification",
    },
    { name: "a proxy", cluster: { "proxy-url": "http://p" }, user: { token: "t" }, says: "proxy" },
    { name: "plain HTTP", cluster: { server: "http://192.0.2.1" }, user: { token: "t" }, says: "https" },
    { name: "nothing to show", cluster: {}, user: {}, says: "neither" },
    { name: "a key without certificate", cluster: {}, user: { "client-key-data": "eA==" }, says: "neither" },
    { name: "a file that is not there", cluster: {}, user: { tokenFile: "gone" }, says: "cannot be read" },
    {
      name: "a broken certificate",
      cluster: {},
      user: { "client-certificate-data": "eA==", "client-key-data": "eA==" },
      says: "parsed",
    },
    { name: "a number for a server", cluster: { server: 7 }, user: { token: "t" }, says: "kubectl" },
  ] as const;
  test.each(bad)("with $name is refused", async ({ cluster, user, says }) => {
    await expect(readKubeconfig(write(cluster, user))).rejects.toThrow(says);
    await expect(readKubeconfig(write(cluster, user))).rejects.not.toThrow("hunter2");
  });

  test.each(["", "[", "a: 1", "contexts: 7", "current-context: x", "secret: ["])("%j is none", async (text) => {
    const file = join(temporaryFolder(), "k");
    writeFileSync(file, text);
    await expect(readKubeconfig(file)).rejects.toThrow(file);
    await expect(readKubeconfig(file)).rejects.not.toThrow("secret");
  });
});

describe("a Pod's account", () => {
  test("is read where Kubernetes puts it", async () => {
    const folder = join(temporaryFolder(), "account");
    mkdirSync(folder);
    writeFileSync(join(folder, "token"), "t\n");
    writeFileSync(join(folder, "ca.crt"), caPem);
    const env = { KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "443" };
    expect(await readServiceAccount(env, folder)).toEqual({
      ...{ host: "10.96.0.1", port: 443, serverName: "kubernetes.default.svc", ca: caPem, token: "t" },
    });
    await expect(readServiceAccount({}, folder)).rejects.toThrow("does not run in a Pod");
  });
});
