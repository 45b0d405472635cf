import { quoted } from "./learn.js";
import type { Candidate, Source } from "./source.js";

/** What a source says when it is asked once. */
export type Inspection = ({ readonly candidates: readonly Candidate[] } | { readonly problem: string }) & {
  /** Absent = it has no credential, or it is not known how long that holds. */
  readonly credential?: { readonly endsAtMs: number; readonly warnFromMs: number };
};

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
    let found: readonly Candidate[] | undefined;
    let credential: Inspection["credential"];
    const end = (inspection: Inspection): void => {
      source.stop();
      resolve(credential === undefined ? inspection : { ...inspection, credential });
    };
    after(() => end({ problem: "it was not read in time" }));
    source.start({
      proposed(candidates) {
        found = candidates;
        if (!mustFollow) end({ candidates });
      },
      confirmed() {
        if (found !== undefined) end({ candidates: found });
      },
      failed: ({ problem }) => end({ problem }),
      credentialRead(validity) {
        credential = validity;
      },
    });
  });
}

/** A candidate as reports show it: `cp1 (192.0.2.11)`. */
export function describeCandidate({ id, addresses }: Candidate): string {
  return `${quoted(id).slice(1, -1)} (${addresses.map((text) => quoted(text).slice(1, -1)).join(", ")})`;
}
