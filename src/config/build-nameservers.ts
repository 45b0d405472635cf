import type { NameserverConfig } from "./config.js";
import { parseName } from "./name.js";
import { formatPath, quote } from "./quote.js";
import { problemAt } from "./source.js";
import { addressesAt, refuseDuplicates } from "./zone-addresses.js";
import { entriesOf, type ZoneContext } from "./zone-context.js";
import { duplicateFault, repeatsZone, reportName, tooLong } from "./zone-names.js";

export function buildNameservers(context: ZoneContext): NameserverConfig[] {
  const { source, zone, report } = context;
  const path = ["nameservers"];
  const servers: NameserverConfig[] = [];
  const seen = new Set<string>();
  for (const [name, addresses] of entriesOf(context, path, context.valid.value.nameservers)) {
    const at = [...path, name];
    const parsed = parseName(name, "hostname");
    if (!("value" in parsed)) {
      reportName(context, at, name, parsed);
      continue;
    }
    const absolute = name.endsWith(".");
    const repeated = absolute ? undefined : repeatsZone(parsed.value, zone, ", or end it with a dot");
    if (repeated !== undefined) {
      reportName(context, at, name, repeated);
      continue;
    }
    const fqdn = absolute ? parsed.value : `${parsed.value}.${zone}`;
    if (tooLong(context, at, name, fqdn)) continue;
    if (seen.has(fqdn)) {
      reportName(context, at, name, duplicateFault("name server"));
      continue;
    }
    seen.add(fqdn);
    const list = typeof addresses === "string" ? [addresses] : addresses;
    const inside = fqdn === zone || fqdn.endsWith(`.${zone}`);
    if (inside && list.length === 0) {
      report(
        problemAt(source, at, {
          message: `${formatPath(at)} has no address, but the name is in the zone: nobody could find it.`,
          remedy: "Write the address that the parent zone has as glue.",
          code: "CONFIG_GLUE_MISSING",
        }),
      );
      continue;
    }
    refuseDuplicates(context, addressesAt(context, at, list));
    if (inside) context.taken.set(fqdn, `the name server ${quote(name)}`);
    const position = source.position(source.positions.key(at));
    servers.push({ position, name: absolute ? `${parsed.value}.` : parsed.value, addresses: list });
  }
  if (Object.keys(context.valid.value.nameservers).length === 0 && !context.valid.damaged(path)) {
    report(
      problemAt(source, path, {
        message: "nameservers is empty, but a zone needs at least one.",
        remedy: 'Write the names and addresses that the parent zone delegates to, such as "ns1: 192.0.2.53".',
        code: "CONFIG_NAMESERVERS_EMPTY",
      }),
    );
  }
  return servers;
}
