/** What a way costs while nothing happens: packets of its probes, memory, CPU. */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { filter, listFilter } from "./namespaces.mjs";
import { PORT, TARGETS } from "./topology.mjs";
import { linesOf } from "./ways.mjs";

const LAST_MS = 30_000;
const TICKS_A_SECOND = 100;
const COUNTER = `table ip count {
  chain in { type filter hook input priority -10; tcp dport ${PORT} counter; }
  chain out { type filter hook output priority -10; tcp sport ${PORT} counter; }
}
`;

/** Watches a way for half a minute, without clients. */
export async function measureCosts(place, running) {
  for (const id of TARGETS) filter(place.namespaces, id, COUNTER);
  const cpuBefore = cpuSeconds(running.services);
  const beganMs = performance.now();
  await sleep(LAST_MS);
  const minutes = (performance.now() - beganMs) / 60_000;
  const packets = TARGETS.map((id) => countedPackets(listFilter(place.namespaces, id))).reduce((a, b) => a + b, 0);
  for (const id of TARGETS) filter(place.namespaces, id, "delete table ip count\n");
  return {
    packetsPerMinute: Math.round(packets / minutes),
    memoryMiB: Math.round(memoryMiB(running.services) * 10) / 10,
    cpuPercent: Math.round(((cpuSeconds(running.services) - cpuBefore) / (minutes * 60)) * 1_000) / 10,
    lines: linesOf(running.configuration),
  };
}

/** @param {string} text what `nft list ruleset` prints */
export const countedPackets = (text) =>
  [...text.matchAll(/counter packets (\d+)/g)].reduce((total, [, packets]) => total + Number(packets), 0);

/** The numbers of all processes of the services: each has a process group of its own. */
function processesOf(services) {
  const groups = new Set(services.filter(({ isRunning }) => isRunning).map(({ pid }) => pid));
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => ({ pid, stat: statOf(pid) }))
    .filter(({ stat }) => stat !== undefined && groups.has(Number(stat[2])));
}

/** Fields of `/proc/PID/stat` from the third on; undefined when the process has ended. */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

const cpuSeconds = (services) =>
  processesOf(services).reduce((total, { stat }) => total + (Number(stat[11]) + Number(stat[12])) / TICKS_A_SECOND, 0);

/** Proportional set size: shared pages count in part. */
function memoryMiB(services) {
  return processesOf(services).reduce((total, { pid }) => {
    const match = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"));
    return total + Number(match?.[1] ?? 0) / 1_024;
  }, 0);
}
