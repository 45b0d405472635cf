import { expect, test } from "vitest";
import type { EndpointView } from "../../src/admin/schemas.js";
import { sourceFacts } from "../../src/cli/source-facts.js";

test("what a source says stands beside what the server says of it", () => {
  const inspection = { problem: "gone" };
  const inspected = [{ fqdn: "api.a", inspected: { source: "file:t" }, inspection }];
  const view = (problem?: string) => {
    const source = { source: "file:t", state: "failing", candidates: 1, ...(problem && { problem }) } as const;
    return {
      endpoint: "api.a",
      discovery: { sources: [source], unconfirmed: [], ignored: 0 },
    } as unknown as EndpointView;
  };
  expect(sourceFacts(inspected, [])).toEqual(new Map([["api.a", [{ source: "file:t", now: inspection }]]]));
  expect(sourceFacts(inspected, [view("denied")]).get("api.a")).toEqual([
    { source: "file:t", now: inspection, server: { state: "failing", problem: "denied" } },
  ]);
});
