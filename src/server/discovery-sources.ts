import { ask } from "../client/ask.js";
import { DnsSource } from "../discovery/dns-source.js";
import { FileSource } from "../discovery/file-source.js";
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
  return (config) => {
    switch (config.type) {
      case "file":
        return new FileSource(config, clock);
      case "dns":
        return new DnsSource(config, clock, random, ask);
      default:
        throw new Error(`a source of type ${config.type} is not built yet`);
    }
  };
}
