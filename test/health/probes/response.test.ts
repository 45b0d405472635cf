import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { HttpRequestConfig } from "../../../src/config/config.js";
import { failingChecks, judgeHead, judgeResponse } from "../../../src/health/probes/response.js";

const config: HttpRequestConfig = { path: "/readyz", expectStatus: [200, 204], serverName: "x", port: 6443 };
const head = (status: number) => ({ status, location: undefined });

describe("failingChecks", () => {
  test("names what failed, in order and once", () => {
    const body = "[+]ping ok\n[-]etcd failed: reason withheld\n[-]etcd failed: again\n[-]shutdown failed: x\n";
    expect(failingChecks(body)).toEqual(["etcd", "shutdown"]);
  });

  test.each(["", "ok", "[+]ping ok\n", "text [-]etcd failed", "[-] failed", "[-]etcd"])(
    "finds nothing in %j",
    (body) => {
      expect(failingChecks(body)).toEqual([]);
    },
  );

  test("lets nothing but short printable names through", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" })), (names) => {
        const body = names.map((name) => `[-]${name} failed: reason withheld`).join("\n");
        for (const name of failingChecks(body)) expect(name).toMatch(/^[\x20-\x7e]{1,30}$/);
      }),
    );
  });
});

describe("not ready", () => {
  test("names five checks and counts the others", () => {
    const body = ["a", "b", "c", "d", "e", "f", "g"].map((name) => `[-]${name} failed: x`).join("\n");
    expect(judgeResponse(head(500), body, config).reason).toBe("not ready: a, b, c, d, e and 2 more");
  });

  test("stays within 200 characters whatever the names are", () => {
    const body = Array.from({ length: 99 }, (_, index) => `[-]${index}${"x".repeat(300)} failed: x`).join("\n");
    expect(judgeResponse(head(503), body, config).reason.length).toBeLessThanOrEqual(200);
  });
});

describe("the head alone", () => {
  test.each([200, 204, 500, 503])("does not decide %i", (status) => {
    expect(judgeHead(head(status), config)).toBeUndefined();
  });

  test.each([
    [401, "auth-required"],
    [403, "auth-required"],
    [301, "unexpected-status"],
    [304, "unexpected-status"],
    [404, "unexpected-status"],
    [429, "overloaded"],
    [502, "unexpected-status"],
  ])("decides %i: %s", (status, resultClass) => {
    expect(judgeHead(head(status), config)?.class).toBe(resultClass);
  });

  test("says what was expected", () => {
    expect(judgeHead(head(404), config)?.reason).toBe("status 404, expected 200 or 204");
  });

  test("tells an anonymous probe from one whose credentials failed", () => {
    expect(judgeHead(head(401), config)?.reason).toContain("needs a client certificate or bearer token");
    expect(judgeHead(head(401), { ...config, bearerTokenFile: "/t" })?.reason).toContain("was not accepted");
  });
});

test("an expected 500 passes", () => {
  const lenient = { ...config, expectStatus: [500] };
  expect(judgeHead(head(500), lenient)).toBeUndefined();
  expect(judgeResponse(head(500), "", lenient)).toEqual({ class: "ok", reason: "status 500" });
});
