import { describe, expect, test } from "vitest";
import { formatAddress, listenError } from "../../src/lib/listening.js";

const failing = (code: string) => Object.assign(new Error(`bind ${code}`), { code });

test.each([
  ["192.0.2.1", 53, "192.0.2.1:53"],
  ["2001:db8::1", 53, "[2001:db8::1]:53"],
  ["::", 0, "[::]:0"],
])("%s and port %i are written as %s", (address, port, text) => {
  expect(formatAddress({ address, port })).toBe(text);
});

describe("a socket that cannot be opened", () => {
  test.each([
    { code: "EADDRINUSE", is: "LISTEN_ADDRESS_IN_USE", says: "the port is in use" },
    { code: "EACCES", is: "LISTEN_NO_PERMISSION", says: "CAP_NET_BIND_SERVICE" },
    { code: "EADDRNOTAVAIL", is: "LISTEN_ADDRESS_UNAVAILABLE", says: "no interface of this machine has the address" },
    { code: "EMFILE", is: "LISTEN_FAILED", says: "bind EMFILE" },
  ])("because of $code is told as $is", ({ code, is, says }) => {
    const cause = failing(code);
    const error = listenError("UDP", { address: "192.0.2.1", port: 53 }, cause);
    expect(error).toMatchObject({ code: is, cause });
    expect(error.message).toMatch(/^cannot listen on UDP 192\.0\.2\.1:53: /);
    expect(error.message).toContain(says);
    expect(error.message).not.toContain("\n");
  });

  test.each([
    { address: "0.0.0.0", port: 53, owner: "systemd-resolved" },
    { address: "::", port: 53, owner: "systemd-resolved" },
    { address: "127.0.0.53", port: 53, owner: "systemd-resolved" },
    { address: "192.0.2.1", port: 53, owner: "another DNS server (dnsmasq, unbound, named)" },
    { address: "0.0.0.0", port: 5353, owner: undefined },
  ])("since $address:$port is in use names who is likely to have it: $owner", ({ address, port, owner }) => {
    const { message } = listenError("TCP", { address, port }, failing("EADDRINUSE"));
    expect(message).toContain(`"ss -lnptu sport = :${port}"`);
    expect(/, likely by (.+?)(?: on 127\.0\.0\.53 or another resolver of this machine)?;/.exec(message)?.[1]).toBe(
      owner,
    );
  });

  test.each([
    { what: "UDP", isTold: true },
    { what: "TCP", isTold: true },
    { what: "HTTP", isTold: false },
  ])("for $what, at an address that may come later: freebind is named: $isTold", ({ what, isTold }) => {
    const { message } = listenError(what, { address: "192.0.2.1", port: 53 }, failing("EADDRNOTAVAIL"));
    expect(message.includes("freebind: true")).toBe(isTold);
  });
});
