import type { EndpointHealth } from "../health/health.js";
import type { SuppressionChange } from "./events.js";

/** Tells from pictures of health when the suppression of a flapping address begins and ends. */
export class SuppressionWatch {
  /** Suppressed addresses by endpoint: target and address of each. */
  readonly #suppressed = new Map<string, ReadonlyMap<string, { readonly target: string; readonly address: string }>>();

  /**
   * What has begun and ended since the look before.
   *
   * @param health absent if the endpoint is not watched any more
   */
  look(fqdn: string, health: EndpointHealth | undefined): SuppressionChange[] {
    const before = this.#suppressed.get(fqdn);
    const now = new Map<string, { readonly target: string; readonly address: string }>();
    const changes: SuppressionChange[] = [];
    for (const { id: target, addresses } of health?.targets ?? []) {
      for (const { address, held } of addresses) {
        if (held === undefined) continue;
        const key = `${target} ${address}`;
        now.set(key, { target, address });
        if (before?.has(key) !== true) changes.push({ fqdn, target, address, isSuppressed: true, ...held });
      }
    }
    for (const [key, { target, address }] of before ?? []) {
      if (!now.has(key)) changes.push({ fqdn, target, address, isSuppressed: false });
    }
    if (now.size > 0) this.#suppressed.set(fqdn, now);
    else this.#suppressed.delete(fqdn);
    return changes;
  }
}
