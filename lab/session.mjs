/** One way in one place: started, played with some faults, stopped. */
import { loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { startClients, startWatch } from "./clients.mjs";
import { measureCosts } from "./costs.mjs";
import { FAULTS } from "./faults.mjs";
import { clientFigures, falseWithdrawals, GIVE_UP_MS, QUIET_MS, withdrawalTimes } from "./figures.mjs";
import { until } from "./service.mjs";
import { ADDRESSES, RESOLVER, TARGETS } from "./topology.mjs";

/** The pseudo-fault that measures costs. */
export const COSTS = "costs";

const WARM_UP_MS = 2_000;
/** The fault comes at a random moment of this time, so that it meets every phase of the probes. */
const SPREAD_MS = 2_000;
const SETTLE_MS = 15_000;
const LOOK_EVERY_MS = 300;

const ALL = TARGETS.map((id) => ADDRESSES[id]);
const isAll = (addresses) => ALL.every((address) => addresses?.includes(address));

export class Session {
  #place;
  #way;
  #random;
  /** Changes of what each name server answers and of what the load balancer takes for up. */
  #changes = [];
  #views = new Map();
  #watch;
  #looking;
  running;

  /** @param {import("./ways.mjs").Way} way @param {() => number} random */
  constructor(place, way, random) {
    this.#place = place;
    this.#way = way;
    this.#random = random;
  }

  async start() {
    this.running = await this.#way.start(this.#place);
    const watched = [
      ...new Set([...(this.running.watched ?? []), ...(this.running.resolver === undefined ? [] : [RESOLVER])]),
    ];
    if (watched.length > 0) this.#watch = await startWatch(this.#place, watched, (change) => this.#see(change));
    if (this.running.believed !== undefined) this.#looking = setInterval(() => this.#look(), LOOK_EVERY_MS);
    await until("the way uses all targets", () => this.isWhole());
  }

  async stop() {
    clearInterval(this.#looking);
    await this.#watch?.stop();
    await Promise.all((this.running?.parts ?? []).map((part) => part.stop()));
    this.#views.clear();
    this.#changes = [];
  }

  async #look() {
    const addresses = await this.running.believed();
    const before = this.#views.get("load balancer");
    if (addresses !== undefined && addresses.join() !== before?.join()) {
      this.#see({ at: Date.now(), server: "load balancer", addresses });
    }
  }

  #see(change) {
    this.#changes.push(change);
    this.#views.set(change.server, change.addresses);
  }

  /** Whether all name servers answer, and the load balancer uses, all targets; true for a way that shows neither. */
  async isWhole() {
    const { watched = [], believed, resolver } = this.running;
    const servers = [...watched];
    if (this.#way.isDns && resolver !== undefined) servers.push(RESOLVER);
    if (believed !== undefined) servers.push("load balancer");
    return servers.every((server) => isAll(this.#views.get(server)));
  }

  /** Plays one round. @param {string} faultId @returns the figures of the round; undefined where the fault does not apply */
  async play(faultId) {
    if (faultId === COSTS) return { costs: await measureCosts(this.#place, this.running) };
    const fault = FAULTS[faultId];
    if (fault.applies?.(this.running) === false) return undefined;
    const clients = await startClients(this.#place, this.running);
    await sleep(WARM_UP_MS + this.#random() * SPREAD_MS);
    const beganAt = Date.now();
    let faultAt = beganAt;
    const begin = () => {
      faultAt = Date.now();
    };
    // The target that the lasting connection goes to, so that it meets the fault too.
    const victim = clients.lasting.target ?? TARGETS[0];
    const scene = { place: this.#place, running: this.running, victim, begin, isWhole: () => this.isWhole() };
    const load = loadavg()[0];
    let isOver = false;
    const acting = Promise.resolve(fault.act(scene)).finally(() => {
      isOver = true;
    });
    const endAt = await this.#observe(
      clients,
      () => faultAt,
      () => isOver,
    );
    await Promise.all(Object.values(clients).map((client) => client.stop()));
    await acting;
    await fault.mend(scene);
    return {
      victim,
      ...this.#figures(clients, fault, victim, { beganAt, faultAt, endAt }),
      load: Math.round(load * 10) / 10,
    };
  }

  /** Waits until the round is over. Returns when that was, Unix milliseconds. */
  async #observe(clients, faultAt, isOver) {
    // Not of the lasting connection: where nobody closes it, its client finds out after 45 s, whatever the way.
    const awaited = Object.entries(clients).flatMap(([id, client]) => (id === "lasting" ? [] : [client]));
    let overAt;
    for (;;) {
      await sleep(100);
      const now = Date.now();
      if (isOver()) overAt ??= now;
      const toldAt = Math.max(...awaited.map((client) => client.toldAt));
      if (overAt === undefined) continue;
      if (now - Math.max(overAt, toldAt, faultAt()) >= QUIET_MS) return now;
      if (now - Math.max(overAt, faultAt()) >= GIVE_UP_MS) return now;
    }
  }

  #figures(clients, { mayMiss }, victim, times) {
    const figures = Object.entries(clients).map(([id, { events, total }]) => [id, clientFigures(events, total, times)]);
    const { faultAt, endAt } = times;
    const changes = this.#changes.filter(({ server }) => server !== RESOLVER);
    const round = { from: faultAt, to: endAt, all: ALL, mayMiss, victim: ADDRESSES[victim] };
    return {
      clients: Object.fromEntries(figures),
      observed: Math.round((endAt - faultAt) / 100) / 10,
      withdrawals: falseWithdrawals(changes, round),
      withdrawn: withdrawalTimes(changes, faultAt, ADDRESSES[victim]),
    };
  }

  /** Makes the way as it was, by waiting or, where that takes long, by a restart. */
  async settle(isLast) {
    if (isLast) return;
    const isSettled = await until("settled", () => this.isWhole(), SETTLE_MS).then(
      () => true,
      () => false,
    );
    if (isSettled && this.#way.forgetsSlowly !== true) return;
    await this.stop();
    await this.start();
  }
}
