import type { EndpointConfig } from "../config/config.js";
import type { ProbeResult, ResultClass } from "../health/health.js";
import type { Finding } from "./finding.js";

/** What a class of result means and what to do, without what was seen. */
type Judgement = Pick<Finding, "id" | "severity" | "meaning" | "remedy">;

const NOT_READY: Judgement = {
  id: "target-not-ready",
  severity: "warning",
  meaning: "It is left out of answers as long as another target is ready.",
  remedy:
    "Look at /readyz?verbose there. If it is a kube-apiserver and ready, correct probe.path and probe.expectStatus.",
};

const UNREACHABLE: Judgement = {
  id: "target-unreachable",
  severity: "warning",
  meaning: "Seen from this machine it is down. If livezone sees the same, it is left out of answers.",
  remedy: "Start it, let the port through the firewall from every nameserver, or correct its address in targets:.",
};

/** Every class but `ok`, which is nothing to tell. */
const JUDGEMENTS: Readonly<Record<Exclude<ResultClass, "ok">, Judgement>> = {
  "not-ready": NOT_READY,
  "unexpected-status": NOT_READY,
  "malformed-response": NOT_READY,
  overloaded: {
    id: "target-overloaded",
    severity: "warning",
    meaning:
      "It runs, and takes no more requests. It stays in answers, unless probe.thresholds says otherwise: its load would go to the others.",
    remedy:
      "See which clients ask so much (apiserver_request_total), and switch API priority and fairness on, which spares /readyz.",
  },
  "auth-required": {
    id: "readyz-unauthorized",
    severity: "error",
    meaning: "livezone cannot see whether it is ready and takes it for down.",
    remedy:
      "Give the endpoint's probe a clientCertificate or bearerTokenFile, or allow anonymous access to /readyz in the apiserver's AuthenticationConfiguration (since 1.31) instead of --anonymous-auth=false.",
  },
  "tls-untrusted": {
    id: "certificate-untrusted",
    severity: "error",
    meaning: "It is another cluster's apiserver, or something in between, or probe.ca is not this cluster's authority.",
    remedy:
      "Give the probe the cluster's authority: ca: /etc/kubernetes/pki/ca.crt of this cluster. Do not switch verification off.",
  },
  "tls-name-mismatch": {
    id: "certificate-name-missing",
    severity: "error",
    meaning: "The probe refuses the certificate, so the target is down.",
    remedy:
      "Add the name to apiServer.certSANs (livezone kubeadm) and renew the certificate, or set probe.serverName to a name that it has.",
  },
  "tls-expired": {
    id: "certificate-expired",
    severity: "error",
    meaning: "Clients refuse it, and so does the probe: the target is down.",
    remedy:
      "Renew it (kubeadm certs renew apiserver) and restart the apiserver; if it is not valid yet, set the clocks.",
  },
  refused: UNREACHABLE,
  reset: UNREACHABLE,
  unreachable: UNREACHABLE,
  timeout: UNREACHABLE,
  "tls-protocol": UNREACHABLE,
};

/** Judges what a probe found at one address. */
export function judgeProbeResult(subject: string, result: ProbeResult): Finding[] {
  if (result.class === "ok") return [];
  return [{ ...JUDGEMENTS[result.class], subject, evidence: `The probe found: ${result.reason}.` }];
}

/**
 * Whether a result of this class takes a target out of answers, as its endpoint is configured. A server that is only
 * overloaded stays, unless a threshold for that is set.
 */
export function withdraws(resultClass: ResultClass, { probe }: Pick<EndpointConfig, "probe">): boolean {
  if (resultClass === "ok") return false;
  return resultClass !== "overloaded" || probe.thresholds?.overloaded !== undefined;
}
