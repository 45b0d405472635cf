import { type CertificateWatch, createCertificateWatch } from "../health/certificates.js";
import type { ServedEndpoints } from "./endpoints.js";
import type { ServerEvents, Subscriber } from "./events.js";
import { watchedAddresses } from "./watched-addresses.js";

/** Subscriber that looks at the certificates which probes were shown, and publishes what is to be said of them. */
export function certificateWarnings(
  events: ServerEvents,
  served: Pick<ServedEndpoints, "endpoints">,
  watch: CertificateWatch = createCertificateWatch(),
): Subscriber {
  return {
    "probe-finished": ({ report }, atMs) => {
      for (const warning of watch.look(report, atMs)) {
        const endpoint = served.endpoints.get(warning.fqdn);
        if (endpoint !== undefined) events.publish({ type: "certificate-warning", warning, endpoint });
      }
    },
    "zones-replaced": ({ config }) => {
      const watched = watchedAddresses(config);
      watch.forget((fqdn, target, address) => watched.has(`${fqdn} ${target} ${address}`));
    },
  };
}
