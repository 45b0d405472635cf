import type { ProbeResult, Snapshot } from "./health.js";

/**
 * Tells whether this machine's clock is the likely cause of certificates that are not valid yet.
 *
 * It is where every certificate that was presented is not valid yet: that they were all issued in the future is less
 * likely than a clock that stands in the past, as after a start without a battery or without NTP.
 */
export class ClockSuspicion {
  /** By address of a target: whether its certificate was not valid yet. Addresses without TLS are not in it. */
  readonly #isEarly = new Map<string, boolean>();
  #early = 0;

  /** Whether the clock is suspected. */
  get isSuspected(): boolean {
    return this.#early > 0 && this.#early === this.#isEarly.size;
  }

  /** Takes note of a result. @returns whether {@link isSuspected} changed */
  look(key: string, { certificateExpiryMs, certificateNotYetValid }: ProbeResult): boolean {
    if (certificateExpiryMs === undefined) return false;
    const before = this.isSuspected;
    this.#set(key, certificateNotYetValid === true);
    return before !== this.isSuspected;
  }

  /** Forgets addresses that `isWatched` does not know. @returns whether {@link isSuspected} changed */
  forget(isWatched: (key: string) => boolean): boolean {
    const before = this.isSuspected;
    for (const key of this.#isEarly.keys()) if (!isWatched(key)) this.#set(key, undefined);
    return before !== this.isSuspected;
  }

  #set(key: string, isEarly: boolean | undefined): void {
    if (this.#isEarly.get(key) === true) this.#early -= 1;
    if (isEarly === undefined) this.#isEarly.delete(key);
    else this.#isEarly.set(key, isEarly);
    if (isEarly === true) this.#early += 1;
  }
}

/** Whether the newest results of all addresses make the clock suspect. */
export function isClockSuspect({ endpoints }: Snapshot): boolean {
  const suspicion = new ClockSuspicion();
  for (const { fqdn, targets } of endpoints.values()) {
    for (const { id, addresses } of targets) {
      for (const { address, last } of addresses) {
        if (last !== undefined) suspicion.look(`${fqdn} ${id} ${address}`, last);
      }
    }
  }
  return suspicion.isSuspected;
}
