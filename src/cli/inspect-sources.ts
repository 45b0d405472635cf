import type { Config } from "../config/config.js";
import type { DiscoverSourceConfig } from "../config/discovery.js";
import { describeCandidate, type Inspection, inspect } from "../discovery/inspect.js";
import { withProposed } from "../doctor/collect-sources.js";
import { systemClock } from "../lib/clock.js";
import type { Problem } from "../lib/errors.js";
import { createOpenSource } from "../server/discovery-sources.js";
import { sourceFacts } from "./source-facts.js";

/** Milliseconds that a source gets to be read. */
const LIMIT_MS = 10_000;

/** A source of targets as it is now. */
export interface InspectedSource {
  /** Of its endpoint. */
  readonly fqdn: string;
  readonly inspection: Inspection;
  readonly inspected: { readonly source: string; readonly candidates?: string[]; readonly problem?: string };
  /** It cannot be read, or its credential ends. */
  readonly warnings: readonly Problem[];
}

/** Reads every source of targets once: is it there, and may it be read? Changes nothing, and a source that fails is a warning. */
export async function inspectSources({ zones }: Pick<Config, "zones">): Promise<readonly InspectedSource[]> {
  const open = createOpenSource({ clock: systemClock, random: Math.random });
  const all = zones.flatMap(({ zone, endpoints }) =>
    endpoints.flatMap((endpoint) =>
      (endpoint.discover?.sources ?? []).map(async (config): Promise<InspectedSource> => {
        const { targets, port, fqdn } = endpoint;
        const servers = targets.flatMap(({ addresses }) => addresses.map((address) => ({ address, port })));
        const source = open(config, { endpoint, zone, servers: () => servers });
        const inspection = await limited((after) =>
          inspect(source, { mustFollow: config.type === "kubernetes", after }),
        );
        return { fqdn, inspection, ...judge(config, fqdn, inspection) };
      }),
    ),
  );
  return Promise.all(all);
}

/** What of the proposals cannot be used, as a server would tell it in its log. */
export function warnOfProposals(config: Pick<Config, "zones">, inspected: readonly InspectedSource[]): Problem[] {
  const facts = sourceFacts(inspected, []);
  return config.zones.flatMap((zone) => {
    const sourced = withProposed(zone, facts, systemClock.wallMs()).endpoints;
    return sourced.flatMap(({ fqdn, notices }) => {
      const position = zone.endpoints.find((one) => one.fqdn === fqdn)?.discover?.sources[0]?.position;
      if (position === undefined) return [];
      return notices.map(
        (text): Problem => ({
          ...position,
          severity: "warning",
          message: `of what is proposed for ${fqdn}, ${text}.`,
          remedy: "livezone leaves that out. Correct it at the source.",
          code: "DISCOVER_PROPOSAL_UNUSABLE",
        }),
      );
    });
  });
}

/** Unlike those of the clock, this timer keeps the process alive until the source has been read. */
async function limited<T>(run: (after: (task: () => void) => void) => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  try {
    return await run((task) => {
      timer = setTimeout(task, LIMIT_MS);
    });
  } finally {
    clearTimeout(timer);
  }
}

function judge(
  { name, position }: DiscoverSourceConfig,
  fqdn: string,
  inspection: Inspection,
): Pick<InspectedSource, "inspected" | "warnings"> {
  const warning = (message: string, remedy: string, code: string): Problem => ({
    ...{ ...position, severity: "warning", message, remedy, code },
  });
  const { credential } = inspection;
  const isEnding = credential !== undefined && systemClock.wallMs() >= credential.warnFromMs;
  const ending = isEnding
    ? [
        warning(
          `the credential of ${name} of ${fqdn} ends, or has ended, at ${new Date(credential.endsAtMs).toISOString()}.`,
          "Make a new one (livezone kubeadm --discovery) and replace the file.",
          "DISCOVER_CREDENTIAL_ENDS",
        ),
      ]
    : [];
  if ("candidates" in inspection) {
    const candidates = inspection.candidates.map(describeCandidate);
    return { inspected: { source: name, candidates }, warnings: ending };
  }
  const { problem } = inspection;
  const unreadable = warning(
    `${name} of ${fqdn} cannot be read now: ${problem}.`,
    "livezone starts without it, with the targets that are written and those that it has learned.",
    "DISCOVER_SOURCE_UNREADABLE",
  );
  return { inspected: { source: name, problem }, warnings: [unreadable, ...ending] };
}
