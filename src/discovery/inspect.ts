import { quoted } from "./learn.js";
import type { Candidate, Source } from "./source.js";

/** What a source says when it is asked once. */
export type Inspection = { readonly candidates: readonly string[] } | { readonly problem: string };

/** How long a source gets. */
export interface InspectOptions {
  /** A set counts only once the source has also begun to follow changes: what it may list it may not be allowed to watch. */
  readonly mustFollow: boolean;
  /** Calls back after the time that a source gets. */
  after(task: () => void): void;
}

/** Starts a source, takes what it says first, and stops it. Changes nothing. */
export function inspect(source: Source, { mustFollow, after }: InspectOptions): Promise<Inspection> {
  return new Promise((resolve) => {
    let found: readonly string[] | undefined;
    const end = (inspection: Inspection): void => {
      source.stop();
      resolve(inspection);
    };
    after(() => end({ problem: "it was not read in time" }));
    source.start({
      proposed(candidates) {
        found = candidates.map(describe);
        if (!mustFollow) end({ candidates: found });
      },
      confirmed() {
        if (found !== undefined) end({ candidates: found });
      },
      failed: ({ problem }) => end({ problem }),
      credentialRead: () => {},
    });
  });
}

function describe({ id, addresses }: Candidate): string {
  return `${quoted(id).slice(1, -1)} (${addresses.map((text) => quoted(text).slice(1, -1)).join(", ")})`;
}
