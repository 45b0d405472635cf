import type { ProbeConfig, TargetProbeConfig } from "../../config/config.js";

/** What is probed. */
export interface ProbeTarget {
  /** IPv4 or IPv6 literal. */
  readonly address: string;
  /** The endpoint that asks, which a program is told. */
  readonly fqdn?: string;
  /** Likewise the target. */
  readonly target?: string;
}

/**
 * Where and how one address of a target is probed.
 *
 * @param address the one that is answered
 * @param place the target's own `probe`, if it has one
 */
export function placeOfProbe(
  address: string,
  config: ProbeConfig,
  place: TargetProbeConfig | undefined,
): { readonly address: string; readonly config: ProbeConfig } {
  const port = place?.port;
  // A list of probes has a port each, and a target's port beside it is an error of the configuration.
  const moved = port === undefined || config.type === "none" || config.type === "all" ? config : { ...config, port };
  return { address: place?.address ?? address, config: moved };
}
