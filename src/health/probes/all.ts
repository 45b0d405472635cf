import type { SingleProbeConfig } from "../../config/config.js";
import type { ProbeResult } from "../health.js";
import type { Attempt } from "./attempt.js";

/**
 * Makes all probes of a list at once. All must pass; the first that fails ends the others and decides. The reason names
 * the probe it is from.
 *
 * @param run makes one of them
 */
export function probeAll(
  probes: readonly SingleProbeConfig[],
  attempt: Attempt,
  run: (config: SingleProbeConfig, signal: AbortSignal) => Promise<ProbeResult>,
): void {
  const controller = new AbortController();
  attempt.onEnd(() => controller.abort());
  // Each has the same time itself, and its own reason when that is over.
  attempt.waitFor("response", "end of all probes");
  const reasons: string[] = [];
  let open = probes.length;
  probes.forEach(async (config, index) => {
    const result = await run(config, controller.signal);
    if (attempt.ended) return;
    if (result.certificateNames !== undefined && attempt.certificate === undefined) {
      const { certificateExpiryMs, certificateNames, certificateNotYetValid } = result;
      attempt.certificate = {
        ...(certificateExpiryMs === undefined ? {} : { certificateExpiryMs }),
        certificateNames,
        ...(certificateNotYetValid === undefined ? {} : { certificateNotYetValid }),
      };
    }
    reasons[index] = `${probeLabel(config)}: ${result.reason}`;
    open -= 1;
    if (result.class !== "ok") {
      if (result.phase !== undefined) attempt.phase = result.phase;
      attempt.end(result.class, reasons[index]);
    } else if (open === 0) {
      attempt.end("ok", reasons.join("; "));
    }
  });
}

/** `https 9345`, `exec check-supervisor`: how reasons name one probe of a list. */
function probeLabel(config: SingleProbeConfig): string {
  if (config.type === "exec") return `exec ${config.command[0]?.split("/").at(-1)}`;
  return config.type === "none" ? "none" : `${config.type} ${config.port}`;
}
