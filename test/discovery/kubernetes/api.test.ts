import { expect, test } from "vitest";
import { getJson, isFailure } from "../../../src/discovery/kubernetes/api.js";
import { systemClock } from "../../../src/lib/clock.js";
import { nodeObject, startApiServer } from "../api-server.js";

async function ask(identities: readonly string[], { ca = true, maxOctets = 1_000_000, token = "secret" } = {}) {
  const server = await startApiServer("127.0.88.2");
  server.set(nodeObject("cp1", "192.0.2.1"));
  const dial = { host: server.address, port: server.port, identities };
  const credential = { host: server.address, port: server.port, token, ...(ca ? { ca: server.caPem } : {}) };
  return getJson({ clock: systemClock, dial, credential, path: "/api/v1/nodes" }, maxOctets).done;
}

test("a server of the cluster is read, whichever of the names its certificate has", async () => {
  expect(await ask(["other.example.com", "kubernetes.default.svc"])).toMatchObject({ json: { items: [{}] } });
  expect(await ask(["127.0.88.2"])).toHaveProperty("json");
});

const refused = [
  {
    name: "a certificate for something else",
    identities: ["other.example.com"],
    more: {},
    says: /other\.example\.com/,
  },
  { name: "another authority", identities: ["127.0.88.2"], more: { ca: false }, says: /certificate/ },
  { name: "a wrong token", identities: ["127.0.88.2"], more: { token: "x" }, says: /401/ },
  { name: "a token of two lines", identities: ["127.0.88.2"], more: { token: "secret\nline" }, says: /cannot be used/ },
  { name: "too much", identities: ["127.0.88.2"], more: { maxOctets: 10 }, says: /MiB/ },
] as const;
test.each(refused)("$name is a failure", async ({ identities, more, says }) => {
  const outcome = await ask(identities, more);
  expect(isFailure(outcome) && outcome.problem).toMatch(says);
  expect(JSON.stringify(outcome)).not.toContain("secret");
});

test("a key that is half written is a failure of this request, and no fault", async () => {
  const credential = { host: "127.0.0.1", port: 1, client: { key: "-----BEGIN PRIVATE KEY-----\nMII", cert: "" } };
  const dial = { host: "127.0.0.1", port: 1, identities: ["kubernetes"] };
  const outcome = await getJson({ clock: systemClock, dial, credential, path: "/" }, 10).done;
  expect(isFailure(outcome) && outcome.problem).toMatch(/cannot be used/);
});
