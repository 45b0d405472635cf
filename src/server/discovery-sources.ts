import { ask } from "../client/ask.js";
import { DnsSource } from "../discovery/dns-source.js";
import { FileSource } from "../discovery/file-source.js";
import { readKubeconfig, readServiceAccount } from "../discovery/kubernetes/credential.js";
import { KubernetesSource } from "../discovery/kubernetes/kubernetes-source.js";
import type { Clock } from "../lib/clock.js";
import type { OpenSource } from "./discovery.js";

/** Makes the source of each type. @param random 0 (included) to 1 (not included) */
export function createOpenSource({
  clock,
  random,
}: {
  readonly clock: Clock;
  readonly random: () => number;
}): OpenSource {
  return (config, { endpoint, zone, servers }) => {
    switch (config.type) {
      case "file":
        return new FileSource(config, clock);
      case "dns":
        return new DnsSource(config, clock, random, ask);
      case "kubernetes": {
        const { kubeconfig } = config;
        return new KubernetesSource({
          ...{ config, clock, random },
          surroundings: () => ({ endpoint, zone, servers: servers() }),
          readCredential: () =>
            kubeconfig === undefined ? readServiceAccount(process.env) : readKubeconfig(kubeconfig),
        });
      }
    }
  };
}
