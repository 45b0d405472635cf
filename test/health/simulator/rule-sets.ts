import { decideAnswerable } from "../../../src/health/answerable.js";
import { createHealthMonitor } from "../../../src/health/monitor.js";
import { HTTPS } from "../monitor-harness.js";
import type { RuleSet, Rules } from "./run-history.js";

const NOW: Rules = { createHealthMonitor, decideAnswerable };

/** Two of three or more. */
function twoOfThree(targets: number): number {
  return targets >= 3 ? 2 : 1;
}

/** The rules and settings of this version; what is given is changed. */
export function ruleSet(name: string, probe: Partial<RuleSet["probe"]> = {}, minHealthy = twoOfThree): RuleSet {
  return {
    name,
    rules: NOW,
    probe: Object.assign({ ...HTTPS, timeoutMs: 3_000, connectTimeoutMs: 1_500 }, probe),
    minHealthy,
  };
}

/** The rules of an older build, with the settings it had. */
export function olderRuleSet(name: string, rules: Rules): RuleSet {
  return { name, rules, probe: { ...HTTPS, timeoutMs: 2_000 }, minHealthy: () => 1, isOld: true };
}

/** What `bench/simulator.mjs` compares. */
export const RULE_SETS: readonly RuleSet[] = [
  ruleSet("defaults, `minHealthy: 1`", {}, () => 1),
  ruleSet("defaults, `minHealthy: 2` of three or more"),
  ruleSet("`connectTimeout: 3s`", { connectTimeoutMs: 3_000 }),
  ruleSet("`timeout: 2s`", { timeoutMs: 2_000 }),
  ruleSet("`timeout: 4s`", { timeoutMs: 4_000 }),
  ruleSet("`fall: 2`", { fall: 2 }),
  ruleSet("`fall: 4`", { fall: 4 }),
  ruleSet("`recheck: 500ms`", { recheckMs: 500 }),
  ruleSet("`recheck: 2s`", { recheckMs: 2_000 }),
  ruleSet("`rise: 1`", { rise: 1 }),
  ruleSet("`interval: 1s`", { intervalMs: 1_000, recheckMs: 500 }),
];
