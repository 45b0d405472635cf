import type { OverrideStore } from "../health/overrides.js";
import { codeOf } from "../lib/errors.js";

/** Who is said to have set a drain that Kubernetes asks for. */
const KUBERNETES = { author: "kubernetes", origin: "kubernetes" } as const;

/**
 * Carries drains that a cluster asks for into the overrides, and takes them back. What an operator has set stands; what a sibling
 * has carried there for the cluster is the same drain, and whoever sees first that the cluster asks for it no more takes it back.
 */
export class DiscoveredDrains {
  readonly #fqdn: string;
  readonly #overrides: Pick<OverrideStore, "get" | "list" | "set" | "clear">;
  /** What has been carried out, or is being: the reason by target id. An operator may have ended it since. */
  readonly #done = new Map<string, string>();
  #isWaiting = false;

  constructor(fqdn: string, overrides: Pick<OverrideStore, "get" | "list" | "set" | "clear">) {
    this.#fqdn = fqdn;
    this.#overrides = overrides;
    for (const { endpoint, target, origin, reason = "" } of overrides.list()) {
      if (endpoint === fqdn && origin === KUBERNETES.origin) this.#done.set(target, reason);
    }
  }

  /** Whether a drain could not be set yet, since too few targets would be left. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** @param wanted all drains that are asked for: the reason by target id */
  want(wanted: ReadonlyMap<string, string>): void {
    this.#isWaiting = false;
    for (const [target, reason] of wanted) if (this.#done.get(target) !== reason) void this.#set(target, reason);
    for (const target of [...this.#done.keys()]) if (!wanted.has(target)) void this.#clear(target);
  }

  async #set(target: string, reason: string): Promise<void> {
    const endpoint = this.#fqdn;
    this.#done.set(target, reason);
    const before = this.#overrides.get(endpoint, target);
    // A sibling's drain for the cluster need not be set once more.
    if (before !== undefined && before.origin !== KUBERNETES.origin) return;
    try {
      await this.#overrides.set({ endpoint, target, kind: "drained", reason, ...KUBERNETES });
    } catch (error) {
      // A target that is not known yet, or the last one: asked for again when that may have changed.
      this.#done.delete(target);
      this.#isWaiting = codeOf(error) !== "";
    }
  }

  async #clear(target: string): Promise<void> {
    const endpoint = this.#fqdn;
    this.#done.delete(target);
    const { author, origin } = this.#overrides.get(endpoint, target) ?? {};
    if (author !== KUBERNETES.author || origin === "operator") return;
    try {
      await this.#overrides.clear({ endpoint, target }, KUBERNETES, ["drained"]);
    } catch {
      this.#done.set(target, "");
      this.#isWaiting = true;
    }
  }
}
