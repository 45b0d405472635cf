import type { EndpointConfig, ProbeConfig } from "../config/config.js";
import { singleProbes } from "../config/probe-list.js";
import { worstCaseTimelines } from "../health/timeline.js";
import type { ManifestFacts, UnreadableFile } from "./facts.js";
import { type Finding, list } from "./finding.js";
import { SHARED_MEANING, SHARED_REMEDY } from "./judge-targets.js";

/**
 * Seconds for which a kube-apiserver must go on serving after it has said that it is not ready, so that nobody is
 * sent to it any more: the time until the probes have noticed (`/readyz` fails at once) plus the TTL, rounded up.
 */
export function requiredShutdownDelaySeconds({ probe, ttl }: Pick<EndpointConfig, "probe" | "ttl">): number {
  const hard = worstCaseTimelines(probe, ttl).find(({ kind }) => kind === "hard");
  return Math.ceil((hard?.forgottenMs ?? 0) / 1000);
}

/**
 * Whether a probe sees that an apiserver is about to stop: only `/readyz` says so. kube-apiserver's `/livez` and
 * `/healthz` pass, and its port is open, until it stops listening. What a program looks at is not known; it may.
 */
export function seesShutdown(probe: ProbeConfig): boolean {
  return singleProbes(probe).some((one) => {
    if (one.type === "http" || one.type === "https") return !/^\/(livez|healthz)\b/.test(one.path);
    return one.type === "exec";
  });
}

/** Judges manifests against the endpoints whose targets they run, which by their addresses alone cannot be told apart. */
export function judgeManifests(manifests: readonly ManifestFacts[], endpoints: readonly EndpointConfig[]): Finding[] {
  return [...manifests.flatMap((manifest) => judgeManifest(manifest, endpoints)), ...judgeAdvertised(manifests)];
}

function judgeManifest(manifest: ManifestFacts, endpoints: readonly EndpointConfig[]): Finding[] {
  const { file, shutdownDelay, shutdownDelayMs, graceSeconds, anonymousAuth } = manifest;
  const findings: Finding[] = [];
  const seeing = endpoints.filter(({ probe }) => seesShutdown(probe));
  const slowest = seeing.toSorted((a, b) => requiredShutdownDelaySeconds(b) - requiredShutdownDelaySeconds(a))[0];
  const required = slowest === undefined ? 0 : requiredShutdownDelaySeconds(slowest);
  if (slowest !== undefined && shutdownDelayMs < required * 1000) {
    findings.push({
      id: "shutdown-delay-short",
      severity: "error",
      subject: file,
      evidence:
        shutdownDelay === undefined
          ? "--shutdown-delay-duration is not set, so it is 0."
          : `--shutdown-delay-duration=${shutdownDelay}; ${slowest.fqdn} needs ${required} s until no cache names the apiserver.`,
      meaning: "At every planned restart, clients still connect to an apiserver that has stopped listening.",
      remedy: `Set --shutdown-delay-duration=${Math.max(required, RECOMMENDED_DELAY_SECONDS)}s (livezone kubeadm prints it in place).`,
    });
  }
  if (shutdownDelayMs > 0 && graceSeconds * 1000 <= shutdownDelayMs) {
    findings.push({
      id: "termination-grace-short",
      severity: "error",
      subject: file,
      evidence: `The Pod has ${graceSeconds} s to end, its shutdown delay takes ${shutdownDelay}.`,
      meaning: "The kubelet kills the apiserver while it still serves, and cuts off what is under way.",
      remedy: `Set terminationGracePeriodSeconds: ${Math.ceil(shutdownDelayMs / 1000) + 30} in the Pod's spec.`,
    });
  }
  const blind = endpoints.filter(
    ({ probe }) =>
      probe.type === "https" && probe.clientCertificate === undefined && probe.bearerTokenFile === undefined,
  );
  if (!anonymousAuth && blind.length > 0) {
    findings.push({
      id: "readyz-unauthorized",
      severity: "error",
      subject: file,
      evidence: `--anonymous-auth=false, and the probe of ${list(blind.map(({ fqdn }) => fqdn))} has no credentials.`,
      meaning: "/readyz answers 401, and livezone takes the target for down.",
      remedy:
        "Give the probe a clientCertificate or bearerTokenFile, or allow anonymous access to /readyz in an AuthenticationConfiguration (since 1.31) and remove the flag.",
    });
  }
  return findings;
}

/** What `livezone kubeadm` recommends at least: room for a probe that is late, and what was measured to do in practice. */
export const RECOMMENDED_DELAY_SECONDS = 20;

function judgeAdvertised(manifests: readonly ManifestFacts[]): Finding[] {
  const files = new Map<string, string[]>();
  for (const { file, advertiseAddress } of manifests) {
    if (advertiseAddress !== undefined) files.set(advertiseAddress, [...(files.get(advertiseAddress) ?? []), file]);
  }
  return [...files].flatMap(([address, those]): Finding[] => {
    if (those.length < 2) return [];
    return [
      {
        id: "advertise-address-shared",
        severity: "error",
        subject: list(those),
        evidence: `All of them have --advertise-address=${address}.`,
        meaning: SHARED_MEANING,
        remedy: SHARED_REMEDY,
      },
    ];
  });
}

/** Files that could not be judged. */
export function judgeUnreadable(files: readonly UnreadableFile[]): Finding[] {
  return files.map(({ file, problem }) => ({
    id: "file-unreadable",
    severity: "error",
    subject: file,
    evidence: `${problem}.`,
    meaning: "It was not judged.",
    remedy: "Name the right file, and run as a user who may read it.",
  }));
}
