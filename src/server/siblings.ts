import { randomBytes } from "node:crypto";
import type { Config, SiblingsConfig } from "../config/config.js";
import { readSiblingSecrets } from "../config/secrets.js";
import type { Clock, Timer } from "../lib/clock.js";
import { messageOf, UserError } from "../lib/errors.js";
import { formatAddress } from "../lib/listening.js";
import type { Logger } from "../lib/logger.js";
import type { SiblingTransport } from "../siblings/host.js";
import { Siblings } from "../siblings/siblings.js";
import type { TransferService } from "../transfer/service.js";
import type { WorkerPool } from "../transport/worker-pool.js";
import type { ServedEndpoints } from "./endpoints.js";
import type { ServerEvents, Subscriber } from "./events.js";
import type { HealthParts } from "./health-parts.js";
import { OverrideSharing } from "./override-sharing.js";
import { Primaries } from "./primaries.js";
import { siblingHost } from "./sibling-host.js";
import type { ServerState } from "./state.js";

/** Stalls from this length on make what this server sees doubtful, milliseconds. */
const LATE_STALL_MS = 1_000;

/** Time for which it is doubtful then, milliseconds. */
const LATE_FOR_MS = 3_000;

/** Time between two attempts to listen while a predecessor still does, milliseconds. */
const LISTEN_AGAIN_MS = 500;

/** What siblings are connected to. */
export interface SiblingPartsOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly events: ServerEvents;
  readonly state: ServerState;
  readonly served: ServedEndpoints;
  readonly health: HealthParts;
  readonly pool: Pick<WorkerPool, "setSilent">;
  readonly transfers: Pick<TransferService, "forget">;
  /** Default: TLS over TCP. */
  readonly transport?: SiblingTransport;
}

/** This server's siblings, and what follows from them. */
export class SiblingParts {
  readonly siblings: Siblings;
  readonly sharing: OverrideSharing;
  readonly primaries: Primaries;
  readonly #options: SiblingPartsOptions;
  /** Monotonic moment until which this server is late. */
  #lateUntilMs = Number.NEGATIVE_INFINITY;
  /** What was seen of each address last, to tell changes without making a picture for each probe. */
  readonly #seen = new Map<string, boolean>();
  #retry: Timer | undefined;
  #isStopped = false;

  constructor(options: SiblingPartsOptions, config: SiblingsConfig) {
    this.#options = options;
    const { clock, random, events, state, served, health, transport } = options;
    const { monitor, overrides, reservations, look, sight } = health;
    const host = siblingHost({
      name: config.name,
      state,
      served,
      monitor,
      overrides,
      events,
      reservations,
      sharing: () => this.sharing,
      look,
      primaries: () => this.primaries,
      flags: () => ({
        isolated: monitor.isolated || sight.isCutOff,
        late: clock.monotonicMs() < this.#lateUntilMs,
        sight: sight.own(),
      }),
      onViews: (fqdns) => sight.viewsChanged(fqdns),
    });
    this.siblings = new Siblings({
      clock,
      random,
      boot: randomBytes(8).toString("hex"),
      settings: { ...config, secrets: secretsIn(config.secretFile) },
      host,
      ...(transport && { transport }),
    });
    this.sharing = new OverrideSharing({ clock, siblings: this.siblings, overrides, reservations });
    this.primaries = new Primaries({
      clock,
      name: config.name,
      fresh: () => this.siblings.fresh().map(({ name }) => name),
      isFit: () => state.isReady && !this.#isDoubtful(),
      tell: (serials) => this.siblings.say({ t: "serials", serials }),
      publish: (change) => events.publish({ type: "zone-changed", change }),
      forget: (zone) => options.transfers.forget(zone),
    });
    sight.connect(this.siblings);
  }

  /** Begins. @throws UserError if it cannot listen */
  async start(): Promise<void> {
    const at = await this.siblings.start();
    this.#options.log.info({ listen: formatAddress(at), name: this.siblings.name }, "siblings connected by");
  }

  /** Begins as soon as a predecessor has closed its own listener. */
  startPatiently(): void {
    this.start().catch((error: unknown) => {
      if (this.#isStopped) return;
      this.#options.log.debug({ error: messageOf(error) }, "siblings wait for the predecessor");
      this.#retry = this.#options.clock.after(LISTEN_AGAIN_MS, () => this.startPatiently());
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.primaries.stop();
    this.#retry?.cancel();
    await this.siblings.stop();
  }

  /** Whether what this server sees is in doubt: then another one makes the serials. */
  #isDoubtful(): boolean {
    const { health, clock } = this.#options;
    return health.monitor.isolated || health.sight.isCutOff || clock.monotonicMs() < this.#lateUntilMs;
  }

  /** Leaves queries to the siblings while this server is cut off and they are not, if that is wanted. */
  #keepSilence(): void {
    const { state, health, pool } = this.#options;
    const isWanted = state.config.siblings?.whenIsolated === "silent";
    pool.setSilent(isWanted && health.sight.isCutOff && this.siblings.fresh().length > 0);
  }

  /** Reads what a configuration names. @returns puts it in force, and cannot fail. @throws UserError */
  read(config: Config): () => void {
    const next = config.siblings;
    if (next === undefined) return () => {};
    const settings = { peers: next.peers, secrets: secretsIn(next.secretFile) };
    return () => this.siblings.configure(settings);
  }

  /** Subscriber that tells siblings what changes. */
  subscriber(): Subscriber {
    const { siblings } = this;
    const { monitor } = this.#options.health;
    const silence = (): void => this.#keepSilence();
    return {
      "probe-finished": ({ report: { address, result, targets } }) => {
        silence();
        const isGood = result.class === "ok" || result.class === "overloaded";
        const before = this.#seen.get(address);
        if (before === isGood) return;
        this.#seen.set(address, isGood);
        for (const { fqdn } of targets) siblings.changed(fqdn);
      },
      "health-changed": ({ transition }) => siblings.changed(transition.fqdn),
      "answers-changed": ({ endpoint }) => siblings.changed(endpoint.config.fqdn),
      "zones-replaced": () => {
        this.#seen.clear();
        siblings.servedChanged();
      },
      // Those that are gone are not looked for: to say the same again costs little.
      "targets-changed": () => this.#seen.clear(),
      "isolation-changed": () => {
        silence();
        siblings.selfChanged();
      },
      "sibling-changed": silence,
      ready: () => siblings.selfChanged(),
      stalled: ({ lengthMs }) => {
        if (lengthMs < LATE_STALL_MS) return;
        this.#lateUntilMs = this.#options.clock.monotonicMs() + LATE_FOR_MS;
        siblings.selfChanged();
      },
      "override-changed": ({ change }) => {
        const { endpoint } = change.entry;
        if (monitor.snapshot().endpoints.has(endpoint)) siblings.changed(endpoint);
      },
    };
  }
}

/** @throws UserError if the secrets have become unreadable since the configuration was read */
function secretsIn(file: string): readonly Uint8Array[] {
  const read = readSiblingSecrets(file);
  if ("why" in read)
    throw new UserError(`the siblings' secret in ${file} cannot be used: ${read.why}`, "SIBLING_SECRET");
  return read.secrets;
}
