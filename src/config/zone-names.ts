import type { EndpointConfig } from "./config.js";
import { MAX_NAME_CHARACTERS } from "./name.js";
import type { Fault } from "./parse-result.js";
import type { Path } from "./positions.js";
import { formatPath, quote } from "./quote.js";
import { problemAtKey } from "./source.js";
import type { ZoneContext } from "./zone-context.js";

export function reportName(context: ZoneContext, path: Path, name: string, fault: Fault): void {
  const message = `${formatPath(path.slice(0, -1))} has the name ${quote(name)}: ${fault.why}.`;
  context.report(problemAtKey(context.source, path, { message, remedy: fault.remedy, code: fault.code }));
}

/** The hint for a name that repeats the zone's, as names relative to it must not. */
export function repeatsZone(name: string, zone: string, absoluteForm: string): Fault | undefined {
  if (name !== zone && !name.endsWith(`.${zone}`)) return undefined;
  const relative = name === zone ? "@" : name.slice(0, -zone.length - 1);
  return {
    why: `names here are relative to the zone, so it would become ${name}.${zone}`,
    remedy: `Write ${quote(relative)}${absoluteForm}.`,
    code: "CONFIG_NAME_ABSOLUTE",
  };
}

export function duplicateFault(what: string): Fault {
  return {
    why: `there is another ${what} of that name (letter case does not count)`,
    remedy: "Keep one of them.",
    code: "CONFIG_NAME_DUPLICATE",
  };
}

export function tooLong(context: ZoneContext, at: Path, name: string, fqdn: string): boolean {
  if (fqdn.length <= MAX_NAME_CHARACTERS) return false;
  reportName(context, at, name, {
    why: `with the zone and the names that livezone adds it would be ${fqdn.length} characters long`,
    remedy: `Shorten it by at least ${fqdn.length - MAX_NAME_CHARACTERS} characters.`,
    code: "CONFIG_NAME_TOO_LONG",
  });
  return true;
}

/** Reports names that would get addresses from two places, of which answers could only give one. */
export function checkNames(context: ZoneContext, endpoints: readonly EndpointConfig[]): void {
  const take = (path: Path, name: string, fqdn: string, what: string) => {
    const other = context.taken.get(fqdn);
    if (other === undefined) context.taken.set(fqdn, what);
    else {
      reportName(context, path, name, {
        why: `${fqdn} is already the name of ${other}`,
        remedy: "Rename one of them.",
        code: "CONFIG_NAME_TAKEN",
      });
    }
  };
  const keys = new Map(context.source.positions.keys(["endpoints"]).map((key) => [key.toLowerCase(), key]));
  for (const endpoint of endpoints) {
    const key = keys.get(endpoint.name) ?? endpoint.name;
    take(["endpoints", key], key, endpoint.fqdn, `the endpoint ${quote(key)}`);
  }
  for (const endpoint of endpoints) {
    const key = keys.get(endpoint.name) ?? endpoint.name;
    for (const { id } of endpoint.targets) {
      const path = ["endpoints", key, "targets", id];
      take(path, id, `${id}.${endpoint.fqdn}`, `the target ${quote(id)} of the endpoint ${quote(key)}`);
    }
  }
}
