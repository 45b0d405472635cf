import { expect, test } from "vitest";
import { sipHash24 } from "../../src/wire/siphash.js";

const key = Uint8Array.from({ length: 16 }, (_, i) => i);

// From the paper (appendix A, for 15 octets) and the reference implementation; least significant octet first.
test.each([
  { octets: 0, hash: "310e0edd47db6f72" },
  { octets: 1, hash: "fd67dc93c539f874" },
  { octets: 15, hash: "e545be4961ca29a1" },
])("of $octets octets", ({ octets, hash }) => {
  const result = Buffer.alloc(12, 0xee);
  sipHash24(
    key,
    Uint8Array.from({ length: octets }, (_, i) => i),
    result,
    2,
  );
  expect(result.toString("hex")).toBe(`eeee${hash}eeee`);
});
