import { expect, test } from "vitest";
import { dialOrders } from "../../src/doctor/dial-order.js";

const v4 = { address: "192.0.2.20", prefixLength: 24 };
const v6 = { address: "2001:db8::20", prefixLength: 64 };
const linkLocal = { address: "fe80::1", prefixLength: 64 };

const cases = [
  {
    name: "addresses of other subnets stay in the order received",
    received: ["198.51.100.12", "198.51.100.11"],
    local: [v4],
    go: ["198.51.100.12", "198.51.100.11"],
    glibc: ["198.51.100.12", "198.51.100.11"],
    how: "in the order received",
  },
  {
    name: "glibc puts the machine's own subnet first, Go does not",
    received: ["198.51.100.12", "192.0.2.11"],
    local: [v4],
    go: ["198.51.100.12", "192.0.2.11"],
    glibc: ["192.0.2.11", "198.51.100.12"],
    how: "192.0.2.11 always first",
  },
  {
    name: "within the subnet glibc goes by the common prefix",
    received: ["192.0.2.200", "192.0.2.11", "192.0.2.21"],
    local: [v4],
    go: ["192.0.2.200", "192.0.2.11", "192.0.2.21"],
    glibc: ["192.0.2.21", "192.0.2.11", "192.0.2.200"],
    how: "by common prefix",
  },
  {
    name: "IPv6 comes first where the machine has it",
    received: ["198.51.100.11", "2001:db8:1::11"],
    local: [v4, v6],
    go: ["2001:db8:1::11", "198.51.100.11"],
    glibc: ["2001:db8:1::11", "198.51.100.11"],
    how: "in the order received",
  },
  {
    name: "a link-local address is no IPv6",
    received: ["2001:db8:1::11", "198.51.100.11"],
    local: [v4, linkLocal],
    go: ["198.51.100.11", "2001:db8:1::11"],
    glibc: ["198.51.100.11", "2001:db8:1::11"],
    how: "in the order received",
  },
] as const;

test.each(cases)("$name", ({ received, local, go, glibc, how }) => {
  const [first, second] = dialOrders(received, local);
  expect(first).toMatchObject({ client: "Go", addresses: go });
  expect(second).toMatchObject({ client: "glibc", addresses: glibc });
  expect(second?.how).toContain(how);
});
