import type { EndpointView } from "../admin/schemas.js";

/** One address behind an endpoint, as a load balancer is told of it. */
export interface ExportedServer {
  /** The target's id; `cp1-2` for its second address, `fallback1` for an address that no target has. */
  readonly name: string;
  readonly address: string;
  /** Whether livezone answers it now: who may get new connections. */
  readonly isAnswered: boolean;
}

/** An endpoint as a load balancer is told of it. */
export interface ExportedEndpoint {
  /** Full name, without the trailing dot. */
  readonly name: string;
  readonly port: number;
  /** In the order of the configuration, so that the same state is always the same text. */
  readonly servers: readonly ExportedServer[];
}

/** What to export of an endpoint. `answers` decides, so that fail-open and its fallback addresses are followed too. */
export function exportedEndpoint({ endpoint, port, answers, targets }: EndpointView): ExportedEndpoint {
  const answered = new Set(answers);
  const own = targets.flatMap(({ id, addresses }) =>
    addresses.map(({ address }, index) => ({
      name: index === 0 ? id : `${id}-${index + 1}`,
      address,
      isAnswered: answered.has(address),
    })),
  );
  const known = new Set(own.map(({ address }) => address));
  const fallbacks = [...answered]
    .filter((address) => !known.has(address))
    .sort()
    .map((address, index) => ({ name: `fallback${index + 1}`, address, isAnswered: true }));
  return { name: endpoint, port, servers: [...own, ...fallbacks] };
}
