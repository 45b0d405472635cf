import { beforeAll, expect, test } from "vitest";
import type { Apiserver } from "../../src/demo/apiserver-process.js";
import { afterAllTests } from "../support/cleanup.js";
import { describeWith } from "../support/programs.js";
import { waitUntil } from "../support/wait.js";
import { ANSWERERS, type Answerer, type Corporate, ENDPOINT, startCorporate } from "./corporate.js";

/** Shorter than the defaults, so that the tests are; `bench/failover.mjs` measures the defaults. */
const PROBE = "interval: 300ms\ntimeout: 300ms\nrecheck: 100ms";

/** Far beyond what any withdrawal or cache takes here; how long they do take is for the benchmark. */
const GENEROUS_MS = 20_000;

/** What becomes of an apiserver, and how that ends. */
const FAILURES: readonly {
  readonly name: string;
  readonly resultClass: string;
  readonly fail: (apiserver: Apiserver, corporate: Corporate) => unknown;
  readonly mend: (apiserver: Apiserver, corporate: Corporate) => unknown;
}[] = [
  {
    name: "is killed",
    resultClass: "refused",
    fail: (apiserver) => apiserver.crash(),
    mend: (apiserver) => apiserver.revive(),
  },
  {
    name: "hangs and accepts connections still",
    resultClass: "timeout",
    fail: (apiserver) => apiserver.hang(),
    mend: (apiserver) => apiserver.resume(),
  },
  {
    name: "says at /readyz that it is not ready",
    resultClass: "not-ready",
    fail: (apiserver) => apiserver.setReady(false),
    mend: (apiserver) => apiserver.setReady(true),
  },
  {
    name: "has a certificate that has expired",
    resultClass: "tls-expired",
    fail: (apiserver, { certificates }) => apiserver.setCertificate(certificates.expired),
    mend: (apiserver, { certificates }) => apiserver.setCertificate(certificates.good),
  },
  {
    name: "has a certificate for another name",
    resultClass: "tls-name-mismatch",
    fail: (apiserver, { certificates }) => apiserver.setCertificate(certificates.wrongName),
    mend: (apiserver, { certificates }) => apiserver.setCertificate(certificates.good),
  },
];

/** Every way of {@link describeFailures}. */
export const FAILURE_NAMES = FAILURES.map(({ name }) => name);

/** Fails an apiserver in each of these ways, and then all of them. */
export function describeFailures(names: readonly string[]): void {
  describeWith(["named", "unbound"], "a delegated endpoint", () => delegatedEndpoint(names));
}

function delegatedEndpoint(names: readonly string[]): void {
  const cleanup = afterAllTests();
  let corporate: Corporate;

  beforeAll(async () => {
    corporate = await startCorporate({ probe: PROBE, ttl: 1, cleanup });
  });

  /** Waits until all of `whom` answer exactly with the targets named. */
  async function everybodyAnswers(ids: readonly string[], whom: readonly Answerer[] = ANSWERERS): Promise<void> {
    const expected = corporate.targets.filter(({ id }) => ids.includes(id)).map(({ address }) => address);
    await Promise.all(
      whom.map(async (one) => {
        let got: unknown;
        const isAsExpected = async () => {
          got = await corporate.ask(one).catch(String);
          return JSON.stringify(got) === JSON.stringify(expected);
        };
        await waitUntil(isAsExpected, {
          timeoutMs: GENEROUS_MS,
          describe: () => `${one} to answer ${expected}; its last answer was ${got}`,
        });
      }),
    );
  }

  /** The newest log line of an event on one target, in each livezone instance. */
  function lastLines(msg: string, target: string) {
    return corporate.livezones.map((livezone) => livezone.logs(msg).findLast((line) => line.target === target));
  }

  test("is answered with all apiservers by livezone, Unbound and BIND", async () => {
    await everybodyAnswers(["cp1", "cp2", "cp3"]);
  });

  test.each(FAILURES.filter(({ name }) => names.includes(name)))(
    "loses an apiserver that $name, and gets it back",
    async ({ resultClass, fail, mend }) => {
      const { apiserver } = corporate.targets[1];
      await everybodyAnswers(["cp1", "cp2", "cp3"]);
      await fail(apiserver, corporate);
      await everybodyAnswers(["cp1", "cp3"]);
      for (const line of lastLines("target withdrawn", "cp2")) expect(line).toMatchObject({ class: resultClass });
      await mend(apiserver, corporate);
      await everybodyAnswers(["cp1", "cp2", "cp3"]);
      for (const line of lastLines("target answered", "cp2"))
        expect(line).toMatchObject({ class: "ok", endpoint: "api" });
    },
  );

  test("is answered with all apiservers when all are down, and says so", async () => {
    await everybodyAnswers(["cp1", "cp2", "cp3"]);
    const failOpen = 'livezone_endpoint_fail_open{zone="k8s.example.com",endpoint="api"}';
    expect(await corporate.metrics(0)).toContain(`${failOpen} 0`);
    await corporate.targets[0].apiserver.crash();
    await corporate.targets[1].apiserver.crash();
    await everybodyAnswers(["cp3"]);
    await corporate.targets[2].apiserver.crash();

    const addresses = corporate.targets.map(({ address }) => address);
    for (const [instance, livezone] of corporate.livezones.entries()) {
      const line = await livezone.waitForLog("endpoint failed open");
      expect(line).toMatchObject({
        level: "error",
        zone: "k8s.example.com",
        endpoint: "api",
        upTargets: 0,
        targets: 3,
      });
      expect(line.answers).toEqual(addresses);
      expect(await corporate.metrics(instance === 0 ? 0 : 1)).toContain(`${failOpen} 1`);
    }
    await everybodyAnswers(["cp1", "cp2", "cp3"]);

    await corporate.targets[1].apiserver.revive();
    await everybodyAnswers(["cp2"]);
    for (const livezone of corporate.livezones) await livezone.waitForLog("endpoint recovered");
    expect(await corporate.metrics(0)).toContain(`${failOpen} 0`);

    await corporate.targets[0].apiserver.revive();
    await corporate.targets[2].apiserver.revive();
    await everybodyAnswers(["cp1", "cp2", "cp3"]);
  });

  test(`of one livezone instance alone is enough for ${ENDPOINT}`, async () => {
    const [first] = corporate.livezones;
    first.signal("SIGKILL");
    await first.ended;
    await corporate.targets[2].apiserver.crash();
    await everybodyAnswers(["cp1", "cp2"], ["livezone 2", "Unbound", "BIND"]);
  });
}
