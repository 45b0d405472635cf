import type { EndpointConfig } from "../config/config.js";
import { coversName } from "../health/probes/tls.js";
import { formatAddress } from "../lib/listening.js";
import type { CertificateFacts, TargetFacts } from "./facts.js";
import { type Finding, list } from "./finding.js";
import { judgeProbeResult, withdraws } from "./judge-probe-result.js";

/** A certificate that ends sooner than this is worth a warning: a month, so that it can be renewed in office hours. */
export const EXPIRES_SOON_MS = 30 * 86_400_000;

/** Judges the targets of one endpoint, each address and all of them together. */
export function judgeTargets(endpoint: EndpointConfig, targets: readonly TargetFacts[], nowMs: number): Finding[] {
  return [
    ...targets.flatMap((facts) => judgeTarget(endpoint, facts, nowMs)),
    ...judgeAllDown(endpoint, targets),
    ...judgeSameServer(endpoint, targets),
    ...judgeSharedAddress(endpoint, targets),
  ];
}

function subjectOf({ fqdn }: EndpointConfig, { target, address, port }: TargetFacts): string {
  return `${fqdn} ${target} ${formatAddress({ address, port })}`;
}

function judgeTarget(endpoint: EndpointConfig, facts: TargetFacts, nowMs: number): Finding[] {
  const subject = subjectOf(endpoint, facts);
  const fromCertificate =
    facts.certificate === undefined ? [] : judgeCertificate(endpoint, facts, facts.certificate, nowMs);
  const fromResult = judgeProbeResult(subject, facts.result);
  return [...fromCertificate, ...fromResult.filter(({ id }) => !fromCertificate.some((other) => other.id === id))];
}

function judgeCertificate(
  endpoint: EndpointConfig,
  facts: TargetFacts,
  certificate: CertificateFacts,
  nowMs: number,
): Finding[] {
  const subject = subjectOf(endpoint, facts);
  const findings: Finding[] = [];
  if (!coversName(certificate.altNames, endpoint.fqdn)) {
    findings.push({
      id: "certificate-name-missing",
      severity: "error",
      subject,
      evidence: `Its certificate is for ${list([...certificate.dnsNames, ...certificate.addresses]) || "no name at all"}.`,
      meaning: `Clients that connect to ${endpoint.fqdn} refuse it: "certificate is valid for ..., not ${endpoint.fqdn}".`,
      remedy: `Add ${endpoint.fqdn} to apiServer.certSANs (livezone kubeadm), remove apiserver.crt and apiserver.key, run kubeadm init phase certs apiserver --config FILE, and restart the apiserver.`,
    });
  }
  const leftMs = certificate.validToMs - nowMs;
  const end = new Date(certificate.validToMs).toISOString().slice(0, 10);
  if (leftMs <= 0) {
    findings.push({
      id: "certificate-expired",
      severity: "error",
      subject,
      evidence: `Its certificate ended on ${end}.`,
      meaning: "Clients refuse it, and so does the probe: the target is down.",
      remedy: "Renew it (kubeadm certs renew apiserver) and restart the apiserver.",
    });
  } else if (leftMs < EXPIRES_SOON_MS) {
    findings.push({
      id: "certificate-expiring",
      severity: "warning",
      subject,
      evidence: `Its certificate ends on ${end}, in ${Math.floor(leftMs / 86_400_000)} days.`,
      meaning:
        "From then on clients refuse it, and so does the probe. The other targets' certificates are likely as old.",
      remedy: "Renew it (kubeadm certs renew apiserver) and restart the apiserver, one target after the other.",
    });
  }
  return findings;
}

/** One target that fails is left out of answers; with all of them failing, no client can be served. */
function judgeAllDown(endpoint: EndpointConfig, targets: readonly TargetFacts[]): Finding[] {
  if (targets.length === 0 || targets.some(({ result }) => !withdraws(result.class, endpoint))) return [];
  return [
    {
      id: "targets-all-down",
      severity: "error",
      subject: endpoint.fqdn,
      evidence: `Not one of ${list([...new Set(targets.map(({ target }) => target))])} passes its probe from here.`,
      meaning: "Clients find no apiserver that is ready, whatever DNS answers.",
      remedy:
        "Look for what all of them share: etcd, the network or firewall on the way, an expired authority, or the probe's own settings.",
    },
  ];
}

/** One certificate is one key: every kube-apiserver makes its own. */
function judgeSameServer(endpoint: EndpointConfig, targets: readonly TargetFacts[]): Finding[] {
  const byFingerprint = new Map<string, TargetFacts[]>();
  for (const facts of targets) {
    if (facts.certificate === undefined) continue;
    const { fingerprint } = facts.certificate;
    byFingerprint.set(fingerprint, [...(byFingerprint.get(fingerprint) ?? []), facts]);
  }
  return [...byFingerprint].flatMap(([fingerprint, those]): Finding[] => {
    if (new Set(those.map(({ target }) => target)).size < 2) return [];
    return [
      {
        id: "targets-same-server",
        severity: "warning",
        subject: endpoint.fqdn,
        evidence: `${list(those.map(({ target, address }) => `${target} (${address})`))} present the same certificate, ${fingerprint.slice(0, 16)}….`,
        meaning:
          "They are one server behind several addresses (a VIP or load balancer among them), and fail together; or the key was copied.",
        remedy: "Name each kube-apiserver's own address as its target, and no VIP.",
      },
    ];
  });
}

/**
 * kube-apiserver's certificate holds its advertise address, as kubeadm makes it. Targets whose certificates share an
 * address that is theirs to advertise, and lack their own, advertise the shared one.
 */
function judgeSharedAddress(endpoint: EndpointConfig, targets: readonly TargetFacts[]): Finding[] {
  const own = new Set(targets.map(({ address }) => address));
  const lacking = targets.filter(
    ({ address, certificate }) =>
      certificate !== undefined && certificate.addresses.length > 0 && !certificate.addresses.includes(address),
  );
  const holders = new Map<string, Set<string>>();
  for (const { target, certificate } of lacking) {
    for (const address of certificate?.addresses ?? [])
      holders.set(address, (holders.get(address) ?? new Set()).add(target));
  }
  const shared = [...holders].filter(
    ([address, those]) => those.size > 1 && !isServiceAddress(address) && !own.has(address),
  );
  if (shared.length === 0) return [];
  const [address, those] = shared[0] as [string, Set<string>];
  return [
    {
      id: "advertise-address-shared",
      severity: "error",
      subject: endpoint.fqdn,
      evidence: `The certificates of ${list([...those])} hold ${address} and not the target's own address.`,
      meaning: SHARED_MEANING,
      remedy: SHARED_REMEDY,
    },
  ];
}

/** What a shared advertise address does, and what to do. */
export const SHARED_MEANING =
  "The kubernetes Service has one endpoint for all apiservers, a VIP: Pods depend on whoever holds it, whatever DNS answers.";
export const SHARED_REMEDY =
  "Set --advertise-address (kubeadm: localAPIEndpoint.advertiseAddress) of each apiserver to its own address, and renew its certificate.";

/** The first address of a Service network, `10.96.0.1`, stands in every apiserver's certificate; so does loopback. */
function isServiceAddress(address: string): boolean {
  return address === "127.0.0.1" || address === "::1" || /\.0\.1$/.test(address) || address.endsWith("::1");
}
