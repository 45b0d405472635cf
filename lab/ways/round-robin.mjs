/** Three A records and no checks. */
import { startParent, startResolver } from "../corporate.mjs";
import { ADDRESSES, RESOLVER, TARGETS } from "../topology.mjs";

const roundRobin = (ttl) => async (place) => {
  const records = TARGETS.map((id) => `api.k8s ${ttl} A ${ADDRESSES[id]}\n`).join("");
  const [parent, resolver] = [await startParent(place, records), await startResolver(place)];
  return {
    services: [],
    probers: [],
    resolver,
    parts: [parent, resolver],
    configuration: [records],
    client: { nameservers: [RESOLVER] },
  };
};

export const ROUND_ROBIN_WAYS = {
  "round-robin": { title: "round-robin DNS", settings: "TTL 300", isDns: true, start: roundRobin(300) },
  "round-robin-fast": { title: "round-robin DNS", settings: "TTL 5", isDns: true, start: roundRobin(5) },
};
