import { describe, expect, test } from "vitest";
import { labModule } from "./modules.js";

const { linesOf } = await labModule<{ linesOf(configuration: readonly string[]): number }>("ways");
const { upServers } = await labModule<{ upServers(text: string): string[] }>("ways/haproxy");
const { countedPackets } = await labModule<{ countedPackets(text: string): number }>("costs");
const { namespaceName, runOf } = await labModule<{
  namespaceName(run: number, copy: number, host: string): string;
  runOf(namespace: string): number | undefined;
}>("topology");

describe("what the lab reads of others", () => {
  test("lines of configuration, without comments and empty lines", () => {
    expect(linesOf(["a 1\n\n# why\n  b 2\n", "; zone\n! keepalived\nc 3"])).toBe(3);
  });

  test("the servers that HAProxy takes for up", () => {
    const text = `1
# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight
3 apiservers 1 cp1 10.77.0.11 2 0 1 1 20 6 3 4 6
3 apiservers 2 cp2 10.77.0.12 0 0 1 1 20 6 3 4 6
3 apiservers 3 cp3 10.77.0.13 2 32 1 1 20 6 3 4 6
`;
    expect(upServers(text)).toEqual(["10.77.0.11"]);
  });

  test("packets that nft has counted", () => {
    expect(
      countedPackets("tcp dport 6443 counter packets 12 bytes 700\n tcp sport 6443 counter packets 5 bytes 3"),
    ).toBe(17);
  });

  test("the run that a namespace belongs to", () => {
    expect(runOf(namespaceName(4711, 2, "cp1"))).toBe(4711);
    for (const other of ["lzlab-", "lzlab-x-1-cp1", "other-4711-2-cp1", "lzlab-4711-2-cp1/x"])
      expect(runOf(other)).toBeUndefined();
  });
});
