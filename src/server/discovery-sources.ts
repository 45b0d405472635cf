import type { DiscoverSourceConfig } from "../config/discovery.js";
import type { Source, SourceListener } from "../discovery/source.js";
import type { Clock } from "../lib/clock.js";
import { messageOf } from "../lib/errors.js";
import type { OpenSource, SourceSurroundings } from "./discovery.js";

/** What sources run on. */
interface SourceParts {
  readonly clock: Clock;
  /** 0 (included) to 1 (not included). */
  readonly random: () => number;
}

/** Makes the source of each type. */
export function createOpenSource(parts: SourceParts): OpenSource {
  return (config, surroundings) => new LoadedSource(() => loadSource(parts, config, surroundings));
}

/** A source whose code is loaded when it starts: who discovers nothing loads nothing. */
class LoadedSource implements Source {
  readonly #load: () => Promise<Source>;
  #source: Source | undefined;
  #isStopped = false;

  constructor(load: () => Promise<Source>) {
    this.#load = load;
  }

  start(listener: SourceListener): void {
    this.#load().then(
      (source) => {
        if (this.#isStopped) return;
        this.#source = source;
        source.start(listener);
      },
      (error: unknown) => {
        if (!this.#isStopped) listener.failed({ problem: messageOf(error), needsOperator: true });
      },
    );
  }

  stop(): void {
    this.#isStopped = true;
    this.#source?.stop();
  }
}

/** The source that a configuration describes. */
export async function loadSource(
  { clock, random }: SourceParts,
  config: DiscoverSourceConfig,
  { endpoint, zone, servers }: SourceSurroundings,
): Promise<Source> {
  switch (config.type) {
    case "file": {
      const { FileSource } = await import("../discovery/file-source.js");
      return new FileSource(config, clock);
    }
    case "dns": {
      const [{ DnsSource }, { ask }] = await Promise.all([
        import("../discovery/dns-source.js"),
        import("../client/ask.js"),
      ]);
      return new DnsSource(config, clock, random, ask);
    }
    case "kubernetes": {
      const [{ KubernetesSource }, { readKubeconfig, readServiceAccount }] = await Promise.all([
        import("../discovery/kubernetes/kubernetes-source.js"),
        import("../discovery/kubernetes/credential.js"),
      ]);
      const { kubeconfig } = config;
      return new KubernetesSource({
        ...{ config, clock, random },
        surroundings: () => ({ endpoint, zone, servers: servers() }),
        readCredential: () => (kubeconfig === undefined ? readServiceAccount(process.env) : readKubeconfig(kubeconfig)),
      });
    }
  }
}
