import { WRITTEN } from "../discovery/targets.js";
import type { ResultClass } from "../health/health.js";
import type { SourcedEndpoint } from "./collect-sources.js";
import type { SourceFacts, TargetFacts } from "./facts.js";
import { type Finding, list } from "./finding.js";

/** Results that say nothing of an apiserver of this cluster: perhaps there is none. The others have findings of their own. */
const UNCONFIRMED: ReadonlySet<ResultClass> = new Set([
  "refused",
  "reset",
  "unreachable",
  "timeout",
  "tls-protocol",
  "tls-untrusted",
  "not-ready",
  "unexpected-status",
  "malformed-response",
]);

/** Addresses that one finding names. */
const MAX_NAMED = 10;

/** Whether a target is only proposed, and not confirmed by its probe: no fault of the apiserver, it may not be one. */
export function isUnconfirmed({ origins }: Pick<SourcedEndpoint, "origins">, facts: TargetFacts): boolean {
  const from = origins.get(facts.target)?.origins ?? [];
  return UNCONFIRMED.has(facts.result.class) && from.length > 0 && !from.includes(WRITTEN);
}

/** Judges the sources of one endpoint's targets. @param targets what probes found, at all targets */
export function judgeSources(endpoint: SourcedEndpoint, targets: readonly TargetFacts[], nowMs: number): Finding[] {
  const { fqdn, sources, notices } = endpoint;
  const found = sources.flatMap((facts) => {
    const subject = `${facts.source} of ${fqdn}`;
    return [...judgeReading(subject, facts, nowMs), ...judgeCredential(subject, facts, nowMs)];
  });
  return [...found, ...notices.map((text) => unusable(fqdn, text)), ...judgeUnconfirmed(endpoint, targets)];
}

function judgeReading(subject: string, { now, server }: SourceFacts, nowMs: number): Finding[] {
  const heard = server === undefined ? "" : ` livezone on this machine ${lastHeard(server, nowMs)}.`;
  if ("problem" in now) {
    return [
      {
        id: "source-unreadable",
        severity: "warning",
        subject,
        evidence: `It cannot be read from here: ${now.problem}.${heard}`,
        meaning: "No target is removed, and probes go on; but a new apiserver is not found.",
        remedy: 'Mend what is named; "livezone check" tries it again, and "livezone status" says what the server sees.',
      },
    ];
  }
  if (server?.state === "failing" || server?.state === "starting") {
    return [
      {
        id: "source-stale",
        severity: "warning",
        subject,
        evidence: `It can be read from here, but${heard}${server.problem === undefined ? "" : ` It says: ${server.problem}.`}`,
        meaning: "The server goes on with what it has learned, and does not find a new apiserver.",
        remedy:
          "Compare this user with the server's: rights to the kubeconfig or file, a proxy, a firewall. Its log has every failure.",
      },
    ];
  }
  if (now.candidates.length > 0) return [];
  return [
    {
      id: "source-empty",
      severity: "warning",
      subject,
      evidence: "It can be read, and proposes nothing.",
      meaning: "No target is removed, since that may be a mistake; but none is found either.",
      remedy: "See whether its selector, name or path is right; if it is no longer needed, take it out of discover.",
    },
  ];
}

function lastHeard({ state, heardAtMs }: NonNullable<SourceFacts["server"]>, nowMs: number): string {
  if (heardAtMs === undefined) return "has not heard it since it started";
  const seconds = Math.max(0, Math.round((nowMs - heardAtMs) / 1_000));
  return `heard it ${seconds} s ago${state === "failing" ? " and cannot read it now" : ""}`;
}

function judgeCredential(subject: string, { now: { credential } }: SourceFacts, nowMs: number): Finding[] {
  if (credential === undefined || nowMs < credential.warnFromMs) return [];
  const { endsAtMs } = credential;
  return [
    {
      id: "source-credential-ends",
      severity: "warning",
      subject,
      evidence: `Its credential ${nowMs < endsAtMs ? "ends" : "has ended"} at ${new Date(endsAtMs).toISOString()}.`,
      meaning: "From then on the API refuses it: no target is removed, but a new apiserver is not found.",
      remedy: "Make a new one (livezone kubeadm --discovery) and replace the file; it is read without a reload.",
    },
  ];
}

function unusable(fqdn: string, text: string): Finding {
  return {
    id: "source-unusable",
    severity: "warning",
    subject: fqdn,
    evidence: `${text}.`,
    meaning: "livezone leaves that out, and tells it once in its log.",
    remedy: "Correct it at the source, or narrow the selector.",
  };
}

function judgeUnconfirmed(endpoint: SourcedEndpoint, targets: readonly TargetFacts[]): Finding[] {
  const unconfirmed = targets.filter((facts) => isUnconfirmed(endpoint, facts));
  if (unconfirmed.length === 0) return [];
  const named = unconfirmed.slice(0, MAX_NAMED).map(({ target, address, result }) => {
    const from = endpoint.origins.get(target)?.origins.join(", ");
    return `${target} (${address}, from ${from}): ${result.reason}`;
  });
  const more = unconfirmed.length - named.length;
  return [
    {
      id: "source-unconfirmed",
      severity: "warning",
      subject: endpoint.fqdn,
      evidence: `${list([...named, ...(more > 0 ? [`${more} more`] : [])])}.`,
      meaning: "Probes decide: it is not answered as long as it does not pass.",
      remedy:
        "If it is an apiserver of this cluster, start it, or let its port through the firewall; if it is none, delete its Node, or narrow the selector.",
    },
  ];
}
