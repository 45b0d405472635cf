import { quote } from "./quote.js";
import { problemAt } from "./source.js";
import type { ZoneContext } from "./zone-context.js";

/** Top-level names that programs do not ask DNS servers for, with what happens to whom. */
const SPECIAL: Readonly<Record<string, string>> = {
  // RFC 6762 §3
  local:
    "names under .local are asked for by multicast DNS: systemd-resolved and glibc with nss-mdns (as desktops and many servers have it) never ask a DNS server for them, nor do Macs",
  // RFC 6761 §6.3
  localhost:
    "systemd-resolved, browsers and many resolvers answer names under .localhost with 127.0.0.1 and ::1 themselves: clients would dial their own machine",
  // RFC 7686 §2
  onion: "resolvers and libraries answer names under .onion with NXDOMAIN and never ask: they belong to Tor",
  // RFC 6761 §6.4
  invalid: "resolvers answer names under .invalid with NXDOMAIN and never ask",
};

/** Warns of a zone whose names clients treat in a special way, so that they would not be asked for here. */
export function warnOfSpecialName(context: ZoneContext): void {
  const { source, zone, report } = context;
  const labels = zone.split(".");
  const why = SPECIAL[labels.at(-1) ?? ""] ?? (labels.length === 1 ? SINGLE_LABEL : undefined);
  if (why === undefined) return;
  report(
    problemAt(source, ["zone"], {
      message: `zone is ${quote(zone)}: ${why}.`,
      remedy: "Use a name below a domain that you own, such as k8s.example.com.",
      code: "CONFIG_ZONE_NAME_SPECIAL",
      severity: "warning",
    }),
  );
}

/** A zone that is a top-level domain of its own. */
const SINGLE_LABEL =
  "a single label can be delegated in the root zone alone, and for its own name systemd-resolved asks no DNS server while glibc appends search domains first";
