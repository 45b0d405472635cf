import { spawnSync } from "node:child_process";
import type { Cleanup } from "../../support/cleanup.js";
import { findProgram } from "../../support/programs.js";

/** A network of its own with one address, reached from here over a pair of virtual interfaces. */
export interface TestNetwork {
  readonly address: string;
  /** Runs a program in it when put before the program and its arguments. */
  readonly prefix: readonly string[];
  /** Drops all that comes in from now on, without a word. */
  blackOut(): void;
}

/** Whether this user may make networks, and the programs for it exist. */
export function hasNetworks(): boolean {
  if (findProgram("ip") === undefined || findProgram("nft") === undefined) return false;
  const name = `livezone-try-${process.pid}`;
  const made = spawnSync("ip", ["netns", "add", name]);
  if (made.status !== 0) return false;
  const filtered = spawnSync("ip", ["netns", "exec", name, "nft", "add", "table", "ip", "try"]);
  spawnSync("ip", ["netns", "del", name]);
  return filtered.status === 0;
}

export function createNetwork(cleanup: Cleanup): TestNetwork {
  const id = process.pid % 16_384;
  const name = `livezone-${process.pid}`;
  // RFC 2544 sets 198.18.0.0/15 apart for tests; four addresses for each process.
  const address = (host: number) => `198.18.${id >> 6}.${((id & 63) << 2) + host}`;
  const [outside, inside] = [`lz${id}a`, `lz${id}b`];
  const run = (...args: string[]) => {
    const { status, stderr } = spawnSync("ip", args, { encoding: "utf8" });
    if (status !== 0) throw new Error(`ip ${args.join(" ")}: ${stderr}`);
  };
  run("netns", "add", name);
  // Its interfaces go with it.
  cleanup(() => spawnSync("ip", ["netns", "del", name]));
  run("link", "add", outside, "type", "veth", "peer", "name", inside, "netns", name);
  run("addr", "add", `${address(1)}/30`, "dev", outside);
  run("link", "set", outside, "up");
  run("-n", name, "addr", "add", `${address(2)}/30`, "dev", inside);
  run("-n", name, "link", "set", inside, "up");
  const nft = (...args: string[]) => run("netns", "exec", name, "nft", ...args);
  return {
    address: address(2),
    prefix: ["ip", "netns", "exec", name],
    blackOut() {
      nft("add", "table", "ip", "dark");
      nft("add", "chain", "ip", "dark", "in", "{ type filter hook input priority 0; policy drop; }");
    },
  };
}
