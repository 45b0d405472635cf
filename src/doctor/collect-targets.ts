import type { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { connect } from "node:tls";
import type { EndpointConfig, HttpsProbeConfig, ProbeSchedule } from "../config/config.js";
import { singleProbes } from "../config/probe-list.js";
import type { ResultClass } from "../health/health.js";
import type { RunProbe } from "../health/probes/probe.js";
import { placeOfProbe } from "../health/probes/target.js";
import { addressOctets, addressText } from "../wire/address.js";
import type { CertificateFacts, TargetFacts } from "./facts.js";
import { mapLimited } from "./pace.js";

/** Targets looked at at a time. */
const AT_ONCE = 8;

/** Results after which it would be in vain to ask for a certificate, and as slow as the probe was. */
const WITHOUT_CERTIFICATE: ReadonlySet<ResultClass> = new Set(["refused", "unreachable", "timeout"]);

/** Probes every address as livezone does, and looks at its certificate, whoever signed it. */
export function collectTargets(probe: RunProbe, endpoint: EndpointConfig): Promise<TargetFacts[]> {
  const places = endpoint.targets
    .filter(({ disabled }) => disabled !== true)
    .flatMap(({ id, addresses, probe: place }) => addresses.map((address) => ({ target: id, address, place })));
  return mapLimited(places, AT_ONCE, async ({ target, address, place }) => {
    const probed = placeOfProbe(address, endpoint.probe, place);
    const [first] = singleProbes(probed.config);
    const port = first === undefined || first.type === "exec" || first.type === "none" ? endpoint.port : first.port;
    const result = await probe({ address: probed.address, fqdn: endpoint.fqdn, target }, probed.config);
    const secure = singleProbes(probed.config).find((one) => one.type === "https");
    const isSilent = WITHOUT_CERTIFICATE.has(result.class);
    const certificate = secure === undefined || isSilent ? undefined : await fetchCertificate(probed.address, secure);
    return { target, address, port, result, ...(certificate === undefined ? {} : { certificate }) };
  });
}

/** The certificate presented at an address; undefined if none was within the probe's timeout. Nothing is sent. */
function fetchCertificate(
  address: string,
  config: HttpsProbeConfig & ProbeSchedule,
): Promise<CertificateFacts | undefined> {
  return new Promise((resolve) => {
    const socket = connect({
      host: address,
      port: config.port,
      servername: isIP(config.serverName) === 0 ? config.serverName : "",
      // Looked at, not relied on: the probe beside it verifies.
      rejectUnauthorized: false,
      ALPNProtocols: ["http/1.1"],
    });
    const end = (facts?: CertificateFacts): void => {
      clearTimeout(timer);
      socket.end();
      socket.destroySoon();
      resolve(facts);
    };
    const timer = setTimeout(() => {
      socket.destroy();
      end();
    }, config.timeoutMs);
    socket.on("error", () => end());
    socket.once("secureConnect", () => {
      const certificate = socket.getPeerX509Certificate();
      end(certificate === undefined ? undefined : certificateFacts(certificate));
    });
  });
}

/** The part of a certificate that is judged. */
export function certificateFacts(certificate: X509Certificate): CertificateFacts {
  const altNames = certificate.subjectAltName ?? "";
  const names = altNames.split(", ");
  const startingWith = (prefix: string) =>
    names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
  return {
    altNames,
    dnsNames: startingWith("DNS:"),
    // Node writes IPv6 in full, `2001:DB8:0:0:0:0:0:11`; ours are compared with these.
    addresses: startingWith("IP Address:").map((address) => addressText(addressOctets(address))),
    issuer: certificate.issuer.replaceAll("\n", ", "),
    fingerprint: certificate.fingerprint256.replaceAll(":", "").toLowerCase(),
    validToMs: Date.parse(certificate.validTo),
  };
}
