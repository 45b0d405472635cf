import type { Config } from "../config/config.js";
import { describeCandidate, type Inspection, inspect } from "../discovery/inspect.js";
import { systemClock } from "../lib/clock.js";
import type { Problem } from "../lib/errors.js";
import { createOpenSource } from "../server/discovery-sources.js";

/** Milliseconds that a source gets to be read. */
const LIMIT_MS = 10_000;

/** A source of targets as it is now. */
export interface InspectedSource {
  /** Of its endpoint. */
  readonly fqdn: string;
  readonly inspection: Inspection;
  readonly inspected: { readonly source: string; readonly candidates?: string[]; readonly problem?: string };
  /** Present if it cannot be read. */
  readonly warning?: Problem;
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
  { name, position }: { readonly name: string; readonly position: Omit<Problem, "message" | "remedy" | "code"> },
  fqdn: string,
  inspection: Inspection,
): Omit<InspectedSource, "fqdn" | "inspection"> {
  if ("candidates" in inspection) {
    return { inspected: { source: name, candidates: inspection.candidates.map(describeCandidate) } };
  }
  const { problem } = inspection;
  const warning = {
    ...position,
    severity: "warning",
    message: `${name} of ${fqdn} cannot be read now: ${problem}.`,
    remedy: "livezone starts without it, with the targets that are written and those that it has learned.",
    code: "DISCOVER_SOURCE_UNREADABLE",
  } as const;
  return { inspected: { source: name, problem }, warning };
}
