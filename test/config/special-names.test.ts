import { describe, expect, test } from "vitest";
import { loadRight, ZONE } from "./folder.js";

const warningsOf = (zone: string) => loadRight({ "zone.yaml": ZONE.replace("k8s.example.com", zone) }).warnings;

describe("a zone whose name clients treat in a special way is warned of", () => {
  test.each([
    ["k8s.local", /multicast DNS: systemd-resolved and glibc with nss-mdns/],
    ["local", /multicast DNS/],
    ["K8S.LOCAL", /multicast DNS/],
    ["k8s.localhost", /127\.0\.0\.1 and ::1 themselves/],
    ["k8s.onion", /belong to Tor/],
    ["k8s.invalid", /NXDOMAIN and never ask/],
    ["k8s", /a single label can be delegated in the root zone alone/],
  ])("%s", (zone, words) => {
    expect(warningsOf(zone)).toMatchObject([
      {
        code: "CONFIG_ZONE_NAME_SPECIAL",
        severity: "warning",
        line: 1,
        column: 7,
        message: expect.stringMatching(words),
      },
    ]);
  });

  test.each(["k8s.test", "k8s.example", "k8s.example.com", "local.example.com", "k8s.internal", "k8s.lan"])(
    "but not %s",
    (zone) => expect(warningsOf(zone)).toEqual([]),
  );
});
