import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { HttpRequestConfig } from "../../../src/config/config.js";
import { failingChecks, judgeHead, judgeResponse, readWholeResponse } from "../../../src/health/probes/response.js";

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

describe("readWholeResponse", () => {
  const read = (text: string) => readWholeResponse(Buffer.from(text, "latin1"));
  const GO =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

  test.each([
    ["what a kube-apiserver sends", GO, 200, "ok"],
    ["a status without a phrase", "HTTP/1.1 500\r\ncontent-length: 3\r\n\r\nbad", 500, "bad"],
    ["an empty body", "HTTP/1.1 503 Nope\r\nX:\r\nContent-Length:  0 \r\n\r\n", 503, ""],
    ["a body with line breaks", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\r\n\r\n", 200, "\r\n\r\n"],
  ])("reads %s", (_name, text, status, body) => {
    expect(read(text)).toEqual({ head: { status, location: undefined }, body });
  });

  test.each([
    ["a part of a response", GO.slice(0, -1)],
    ["more than a response", `${GO}HTTP/1.1 500 No\r\n\r\n`],
    ["a response without a length", "HTTP/1.1 200 OK\r\nX: y\r\n\r\n"],
    ["one without fields", "HTTP/1.1 200 OK\r\n\r\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok"],
    ["a length and another that is none", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: x\r\n\r\nok"],
    ["chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n"],
    ["HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"],
    ["an interim response", "HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n"],
    ["a response that has no body by its status", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"],
    ["a redirect", "HTTP/1.1 301 Moved\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"],
    ["a change of protocol", "HTTP/1.1 200 OK\r\nUpgrade: h2c\r\nContent-Length: 0\r\n\r\n"],
    ["bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok"],
    ["a folded field", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok"],
    ["a space before a colon", "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok"],
    ["a control character", "HTTP/1.1 200 OK\r\nX: \u0000\r\nContent-Length: 2\r\n\r\nok"],
    ["nothing", ""],
  ])("leaves %s to the parser", (_name, text) => {
    expect(read(text)).toBeUndefined();
  });
});
