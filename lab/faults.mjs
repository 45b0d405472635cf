/** What goes wrong, by id. */
import { setTimeout as sleep } from "node:timers/promises";
import { filter, setLink } from "./namespaces.mjs";
import { until } from "./service.mjs";
import { ADDRESSES, PORT, TARGETS } from "./topology.mjs";

/** How long a killed server stays away before its supervisor starts it again. */
const AWAY_MS = 10_000;
const FLAPPING_MS = 10_000;
const ALL_DOWN_MS = 5_000;
/** How long a rolling restart waits for the way to take a target that came back. */
const RETURN_WITHIN_MS = 15_000;

const TABLE = "lab";
const block = (place, host, rule, hook = "output") =>
  filter(
    place.namespaces,
    host,
    `table ip ${TABLE} { chain ${hook} { type filter hook ${hook} priority 0; policy accept; ${rule}; }; }\n`,
  );
const unblock = (place, host) => filter(place.namespaces, host, `table ip ${TABLE} { }\ndelete table ip ${TABLE}\n`);

const victimOf = ({ place, victim }) => place.apiservers[victim];
const renew = (scene) => victimOf(scene).renew();
const isProbedElsewhere = ({ probers, isOnClient }) => probers.length > 0 && isOnClient !== true;

/**
 * @typedef {object} Scene
 * @property {object} place
 * @property {import("./ways.mjs").Running} running
 * @property {string} victim id of the target that suffers
 * @property {() => Promise<boolean>} isWhole whether the way answers or uses all targets
 * @property {() => void} begin says that the fault begins now, for one that has a prelude
 *
 * @typedef {object} Fault
 * @property {string} title
 * @property {(scene: Scene) => unknown} act resolves when nothing more will go wrong
 * @property {(scene: Scene) => unknown} mend makes all as before, but for what the way remembers
 * @property {"none" | "victim" | "one" | "all"} mayMiss which targets may rightly be missing from answers; `one`: any, but one at a time
 * @property {(running: import("./ways.mjs").Running) => boolean} [applies] default: to every way
 * @property {boolean} [isLast] whether it stays in the way's memory (flap damping), so that it is played last before a restart
 */

/** @type {Record<string, Fault>} */
export const FAULTS = {
  sigkill: { title: "SIGKILL", act: (scene) => victimOf(scene).crash(), mend: renew, mayMiss: "victim" },
  sigstop: { title: "SIGSTOP (hangs)", act: (scene) => victimOf(scene).hang(), mend: renew, mayMiss: "victim" },
  "power-off": {
    title: "power off",
    act: ({ place, victim }) => setLink(place.namespaces, victim, false),
    async mend(scene) {
      await renew(scene);
      setLink(scene.place.namespaces, scene.victim, true);
    },
    mayMiss: "victim",
  },
  dropped: {
    title: "packets to the port dropped",
    act: ({ place, victim }) => block(place, victim, `tcp dport ${PORT} drop`, "input"),
    async mend(scene) {
      unblock(scene.place, scene.victim);
      await renew(scene);
    },
    mayMiss: "victim",
  },
  graceful: {
    title: "graceful stop, 20 s delay",
    act: (scene) => victimOf(scene).stop(),
    mend: renew,
    mayMiss: "victim",
  },
  certificate: {
    title: "certificate expired",
    act: (scene) => victimOf(scene).order("certificate expired"),
    mend: renew,
    mayMiss: "victim",
  },
  slow: {
    title: "each answer takes 3 s",
    act: (scene) => victimOf(scene).order("slow 3s"),
    mend: renew,
    mayMiss: "victim",
  },
  flapping: { title: "flapping at 1 Hz for 10 s", act: flap, mend: renew, mayMiss: "victim", isLast: true },
  "cut-from-one": {
    title: "first prober cut off from one target",
    act: ({ place, running, victim }) => block(place, running.probers[0], `ip daddr ${ADDRESSES[victim]} drop`),
    mend: ({ place, running }) => unblock(place, running.probers[0]),
    mayMiss: "none",
    applies: isProbedElsewhere,
  },
  uplink: {
    title: "every prober cut off from all targets",
    act({ place, running }) {
      const all = TARGETS.map((id) => ADDRESSES[id]).join(", ");
      for (const host of running.probers) block(place, host, `ip daddr { ${all} } drop`);
    },
    mend({ place, running }) {
      for (const host of running.probers) unblock(place, host);
    },
    mayMiss: "none",
    applies: isProbedElsewhere,
  },
  "server-killed": {
    title: "one livezone, name server or load balancer killed",
    async act({ running }) {
      await running.first.kill();
      await sleep(AWAY_MS);
      await running.first.start();
    },
    mend() {},
    mayMiss: "none",
    applies: ({ first }) => first !== undefined,
  },
  resolver: {
    title: "resolver restarted",
    async act({ running }) {
      await running.resolver.stop();
      await running.resolver.start();
    },
    mend() {},
    mayMiss: "none",
    applies: ({ resolver }) => resolver !== undefined,
  },
  "all-down": {
    title: "all down, and one back after 5 s",
    async act({ place, victim, begin }) {
      await Promise.all(TARGETS.map((id) => place.apiservers[id].crash()));
      await sleep(ALL_DOWN_MS);
      begin();
      await place.apiservers[victim].start();
    },
    mend: ({ place }) => Promise.all(TARGETS.map((id) => place.apiservers[id].renew())),
    mayMiss: "all",
    isLast: true,
  },
  rolling: { title: "rolling restart of all three", act: rollingRestart, mend() {}, mayMiss: "one", isLast: true },
};

/** Killed and started again, half a second each. */
async function flap(scene) {
  const endMs = performance.now() + FLAPPING_MS;
  while (performance.now() < endMs) {
    await victimOf(scene).crash();
    await sleep(500);
    await victimOf(scene).start();
    await sleep(500);
  }
}

/** One after the other is drained, where the way has a command for it, stopped (with its delay of 20 s) and started again. */
async function rollingRestart({ place, running, isWhole }) {
  for (const id of TARGETS) {
    await running.drain?.(id);
    await place.apiservers[id].stop();
    await place.apiservers[id].start();
    await running.undrain?.(id);
    await until("the target is used again", isWhole, RETURN_WITHIN_MS).catch(() => {});
  }
}
