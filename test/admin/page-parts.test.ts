import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { PAGE_DRAWINGS } from "../../src/admin/page-drawings.js";
import { PAGE_EVENTS } from "../../src/admin/page-events.js";
import { PAGE_PLAN } from "../../src/admin/page-plan.js";
import { PAGE_SCRIPT } from "../../src/admin/page-script.js";
import { PAGE_SECTIONS } from "../../src/admin/page-sections.js";
import { PAGE_SIBLINGS } from "../../src/admin/page-siblings.js";
import { PAGE_SOURCES } from "../../src/admin/page-sources.js";

const PARTS = [PAGE_DRAWINGS, PAGE_EVENTS, PAGE_SIBLINGS, PAGE_SOURCES, PAGE_SECTIONS, PAGE_PLAN];

test("the script of the page is made of its parts, each once", () => {
  for (const part of PARTS) expect(PAGE_SCRIPT.split(part)).toHaveLength(2);
});

/** What a section of the page says of a status: its items, or undefined when it is left out. */
function itemsOf(section: string, status: object): string[] | undefined {
  const context = {
    status,
    make: (_tag: string, _class: string, ...children: unknown[]) => children,
    ago: () => "3 s",
    dateTime: (atMs: number) => new Date(atMs).toISOString(),
    clockTime: (atMs: number) => new Date(atMs).toISOString().slice(11, 19),
  };
  const script = `${PAGE_SIBLINGS}${PAGE_SOURCES}${PAGE_SECTIONS}; JSON.stringify(${section}(status))`;
  const made: unknown = runInNewContext(`(() => { ${script.replace(/; JSON/, "; return JSON")} })()`, context);
  if (made === undefined) return undefined;
  const [, list] = JSON.parse(String(made)) as [unknown, string[][]];
  return list.flat();
}

test("siblings: each with what is wrong with it", () => {
  const peer = { name: "ns2", address: "192.0.2.54:9854", condition: "fresh", sinceMs: 0 };
  const troubled = {
    ...peer,
    name: "ns3",
    condition: "late",
    trouble: "refused",
    overridesNotKept: "there",
    zonesDiffer: ["k8s.example.com"],
    clockDifferenceMs: -7_000,
    differences: [{ endpoint: "api.k8s.example.com", here: ["192.0.2.1"], there: [] }],
  };
  expect(itemsOf("siblingSection", {})).toBeUndefined();
  expect(itemsOf("siblingSection", { siblings: { peers: [peer, troubled] } })).toEqual([
    "ns2 (192.0.2.54:9854) is fresh, for 3 s",
    "ns3 (192.0.2.54:9854) is late, for 3 s: connecting to it: refused; it cannot save overrides of this server, which do not hold there; " +
      "another configuration of k8s.example.com; its clock is 7 s behind; " +
      "api.k8s.example.com is answered with nothing there, with 192.0.2.1 here",
  ]);
});

test("sources of targets: those that need somebody", () => {
  const sources = [
    { source: "kubernetes:nodes", state: "ok", candidates: 3, credentialEndsAtMs: 864e5, credentialRenewFromMs: 0 },
    { source: "file:targets.json", state: "failing", candidates: 1, problem: "no such file" },
    { source: "dns:masters", state: "empty", candidates: 0 },
  ];
  const endpoint = { endpoint: "api", discovery: { sources, unconfirmed: [], ignored: 0 } };
  expect(itemsOf("sourceSection", { nowMs: 0, zones: [{ endpoints: [{ endpoint: "other" }] }] })).toBeUndefined();
  expect(itemsOf("sourceSection", { nowMs: 0, zones: [{ endpoints: [endpoint] }] })).toEqual([
    "the credential of kubernetes:nodes of api ends 1970-01-02T00:00:00.000Z",
    "file:targets.json of api cannot be read: no such file",
    "dns:masters of api proposes nothing: the targets stay as they were",
  ]);
});

test("secondaries: those that do not follow come first, with serial, lag, and what was said and taken last", () => {
  const following = {
    ...{ zone: "k8s.example.com", address: "192.0.2.61:53", serial: 2026120301, lagMs: 0, notifiedAtMs: 1 },
    acknowledged: { atMs: 1, rcode: "NOERROR" },
    transferred: { atMs: 1, kind: "ixfr", serial: 2026120301, octets: 200, complete: true },
  };
  const behind = {
    ...{ ...following, address: "192.0.2.62:53", serial: 2026120300, lagMs: 61_200, trouble: "behind" },
    transferred: { ...following.transferred, kind: "axfr", complete: false },
  };
  const unasked = { zone: "k8s.example.com", address: "192.0.2.63:53", lagMs: 0 };
  expect(itemsOf("secondarySection", {})).toBeUndefined();
  expect(itemsOf("secondarySection", { secondaries: [following, unasked, behind] })).toEqual([
    "192.0.2.62:53, k8s.example.com: behind for 62 s, serial 2026120300; notified 3 s ago; " +
      "acknowledged 3 s ago (NOERROR); transferred 3 s ago (AXFR, cut)",
    "192.0.2.61:53, k8s.example.com: follows, serial 2026120301; notified 3 s ago; " +
      "acknowledged 3 s ago (NOERROR); transferred 3 s ago (IXFR)",
    "192.0.2.63:53, k8s.example.com: not asked yet; notified not yet; acknowledged not yet; transferred not yet",
  ]);
});
