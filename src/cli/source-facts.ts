import type { EndpointView } from "../admin/schemas.js";
import type { Inspection } from "../discovery/inspect.js";
import type { SourceFacts } from "../doctor/facts.js";

type ServerView = NonNullable<EndpointView["discovery"]>["sources"][number];

/** A source that was read, and of which endpoint it is. */
interface ReadSource {
  readonly fqdn: string;
  readonly inspected: { readonly source: string };
  readonly inspection: Inspection;
}

/** Puts what sources say beside what the server says of them, by fqdn. */
export function sourceFacts(
  inspected: readonly ReadSource[],
  views: readonly EndpointView[],
): ReadonlyMap<string, readonly SourceFacts[]> {
  const facts = new Map<string, SourceFacts[]>();
  for (const { fqdn, inspected: read, inspection } of inspected) {
    const view = views.find(({ endpoint }) => endpoint === fqdn)?.discovery?.sources;
    const ofServer = view?.find(({ source }) => source === read.source);
    const one = {
      source: read.source,
      now: inspection,
      ...(ofServer === undefined ? {} : { server: stateOf(ofServer) }),
    };
    facts.set(fqdn, [...(facts.get(fqdn) ?? []), one]);
  }
  return facts;
}

function stateOf({ state, heardAtMs, problem }: ServerView): NonNullable<SourceFacts["server"]> {
  return {
    state,
    ...(heardAtMs === undefined ? {} : { heardAtMs }),
    ...(problem === undefined ? {} : { problem }),
  };
}
