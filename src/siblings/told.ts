import type { SiblingEndpoint } from "./messages.js";

/** An endpoint as it is now, as a sibling is told of it; without `endpoint` it is not served any more. */
export interface Told {
  readonly fqdn: string;
  readonly endpoint?: SiblingEndpoint;
  /** The endpoint as JSON: made once for all siblings. */
  readonly text?: string;
}

/** Makes an endpoint fit to be compared with what was told before. */
export function told(fqdn: string, endpoint: SiblingEndpoint | undefined): Told {
  return endpoint === undefined ? { fqdn } : { fqdn, endpoint, text: JSON.stringify(endpoint) };
}

/**
 * What one sibling was not told yet of endpoints that may have changed. Takes note of it as told.
 *
 * @param known what the sibling was told last, by fqdn, as JSON. Each sibling has its own: they connect at different moments
 */
export function notToldYet(
  known: Map<string, string>,
  changed: readonly Told[],
): { readonly endpoints: readonly SiblingEndpoint[]; readonly gone: readonly string[] } {
  const endpoints: SiblingEndpoint[] = [];
  const gone: string[] = [];
  for (const { fqdn, endpoint, text } of changed) {
    if (text === known.get(fqdn)) continue;
    if (endpoint === undefined || text === undefined) {
      known.delete(fqdn);
      gone.push(fqdn);
    } else {
      known.set(fqdn, text);
      endpoints.push(endpoint);
    }
  }
  return { endpoints, gone };
}
