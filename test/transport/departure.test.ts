import { expect, test } from "vitest";
import { createCounters } from "../../src/transport/batch/buffers.js";
import type { BatchTransport } from "../../src/transport/batch/load.js";
import { departUdp } from "../../src/transport/departure.js";
import type { BoundAddress } from "../../src/transport/sockets.js";

/** An address whose socket of thread `i` has the descriptor `first + i`. */
function bound(first: number, threads: number): BoundAddress {
  const udp = Array.from({ length: threads }, (_, i) => ({ fd: first + i, counters: createCounters() }));
  return { address: { address: "127.0.0.1", port: first }, udp };
}

/** What a departure does, in order. */
async function steps(numbering: readonly number[], successors: number, addresses: readonly BoundAddress[]) {
  const done: string[] = [];
  const batch = {
    steer: (fd: number, base: number, count: number) => done.push(`steer ${fd} to ${base}+${count}`),
  } as unknown as BatchTransport;
  await departUdp({
    batch,
    bound: addresses,
    numbering,
    successors,
    async endThread(index) {
      done.push(`end ${index}`);
    },
    closeSocket: ({ address }, index) => done.push(`close ${address.port}/${index}`),
  });
  return done;
}

test("threads end one after the other, each after datagrams are steered away from it at every address", async () => {
  expect(await steps([0, 1], 2, [bound(100, 2), bound(200, 2)])).toEqual([
    // Sockets 2 and 3 are the successor's; 3 is about to take the number of 1.
    ...["steer 100 to 2+1", "steer 200 to 2+1"],
    ...["end 1", "close 100/1", "close 200/1"],
    ...["steer 100 to 1+2", "steer 200 to 1+2"],
    ...["steer 100 to 1+1", "steer 200 to 1+1"],
    // After the last one the successor frees the choice again.
    ...["end 0", "close 100/0", "close 200/0"],
  ]);
});

test("threads whose sockets were renumbered by a takeover before leave by their numbers", async () => {
  const done = await steps([2, 0, 1], 1, [bound(100, 3)]);
  expect(done.filter((step) => step.startsWith("end"))).toEqual(["end 1", "end 0", "end 2"]);
  // Thread 2 has the lowest number and leaves last: its descriptor stands for the group all the time.
  expect(new Set(done.filter((step) => step.startsWith("steer")).map((step) => step.split(" ")[1]))).toEqual(
    new Set(["102"]),
  );
});

test("an address without sockets of threads is left alone", async () => {
  expect(await steps([0], 1, [bound(100, 0)])).toEqual(["end 0", "close 100/0"]);
});
