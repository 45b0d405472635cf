import type { EndpointHealth, Health, OverrideKind } from "../../src/health/health.js";

/** `cp1:up cp2:down!drained`: targets with an address each, and their overrides. */
export function endpointOf(text: string): EndpointHealth {
  const targets = text.split(" ").map((word) => {
    const [, id = "", health, kind] = /^(\w+):(\w+)(?:!(.+))?$/.exec(word) ?? [];
    const addresses = [{ address: `${id}-address`, health: health as Health, sinceMs: 0 }];
    return {
      id,
      addresses,
      ...(kind === undefined
        ? {}
        : { override: { kind: kind as OverrideKind, origin: "operator" as const, setAtMs: 0 } }),
    };
  });
  return { fqdn: "api.k8s.example.com", targets };
}
