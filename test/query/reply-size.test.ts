import { expect, test } from "vitest";
import { TRANSPORT } from "../../src/query/counters.js";
import { Query } from "../../src/query/decode.js";
import { replyLimit } from "../../src/query/reply-size.js";

test.each([
  { transport: "udp", offer: undefined, octets: 512 },
  { transport: "udp", offer: 0, octets: 512 },
  { transport: "udp", offer: 511, octets: 512 },
  { transport: "udp", offer: 513, octets: 513 },
  { transport: "udp", offer: 1_232, octets: 1_232 },
  { transport: "udp", offer: 65_535, octets: 1_232 },
  { transport: "tcp", offer: undefined, octets: 65_535 },
  { transport: "tcp", offer: 512, octets: 65_535 },
] as const)("over $transport, with EDNS $offer: $octets octets", ({ transport, offer, octets }) => {
  const query = new Query();
  query.transport = TRANSPORT[transport];
  query.hasEdns = offer !== undefined;
  query.udpOctets = offer ?? 4_096;
  expect(replyLimit(query)).toBe(octets);
});
