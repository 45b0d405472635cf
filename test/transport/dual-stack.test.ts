import { describe, expect, test } from "vitest";
import { openTcp } from "../../src/transport/tcp.js";
import { openUdp } from "../../src/transport/udp.js";
import { afterThisTest } from "../support/cleanup.js";
import { askRaw } from "../support/dns-client.js";
import { encodeQuery } from "../support/dns-message.js";

/** Answers nothing: what is looked at is who may listen. */
const silent = () => 0;

describe("[::] serves IPv6 only", () => {
  test("so that 0.0.0.0 may listen on the same port beside it", async () => {
    const udp6 = await openUdp({ address: "::", port: 0 }, silent);
    afterThisTest(() => udp6.stop(0));
    const { port } = udp6.address;
    for (const open of [openUdp, openTcp]) {
      const beside = await open({ address: "0.0.0.0", port }, silent);
      afterThisTest(() => beside.stop(0));
    }
    const tcp6 = await openTcp({ address: "::", port }, silent);
    afterThisTest(() => tcp6.stop(0));
  });

  test("and an IPv4 client finds nobody there when it is alone", async () => {
    const udp6 = await openUdp({ address: "::", port: 0 }, silent);
    afterThisTest(() => udp6.stop(0));
    const bytes = encodeQuery({ name: "a.example", type: "A" });
    await expect(askRaw({ server: "127.0.0.1", port: udp6.address.port, bytes })).rejects.toMatchObject({
      code: "ECONNREFUSED",
    });
  });
});
