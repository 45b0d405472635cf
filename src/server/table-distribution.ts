import type { WorkerPool } from "../transport/worker-pool.js";
import type { Subscriber } from "./events.js";

/** Subscriber that brings every change of the zones to the threads that answer. */
export function tableDistribution(pool: Pick<WorkerPool, "load" | "update">): Subscriber {
  return {
    "zone-changed": ({ update }) => pool.update(update),
    "zones-replaced": ({ zones }) => pool.load(zones),
  };
}
