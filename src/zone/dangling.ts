import { typeText } from "../wire/constants.js";
import { formatName, isWithin, lowerName, type Name, parentName, prependLabels } from "../wire/name.js";
import { embeddedNames } from "../wire/rdata.js";
import { latin1 } from "../wire/rdata-text.js";
import { ownedNames } from "./endpoint.js";
import type { Entry, Report } from "./entries.js";
import { cutAbove, ExistingNames } from "./existing-names.js";
import type { ZoneEndpoint } from "./zone.js";

/** What a zone consists of while it is being built. */
export interface ZoneParts {
  readonly apex: Name;
  readonly entries: ReadonlyMap<string, Entry>;
  readonly endpoints: readonly ZoneEndpoint[];
  readonly cuts: ReadonlySet<Name>;
}

/**
 * Warns of records that lead to a name in the zone which does not exist: most often an absolute name without its final
 * dot, which is then read as relative to the zone (RFC 1035 §5.1). Names below a cut are known to other servers alone.
 */
export function checkDangling({ apex, entries, endpoints, cuts }: ZoneParts, report: Report): void {
  const existing = new ExistingNames(apex, cuts);
  for (const { name } of entries.values()) existing.add(name);
  for (const endpoint of endpoints) for (const { name } of ownedNames(endpoint)) existing.add(name);
  for (const { name: owner, type, rdatas, positions, position } of entries.values()) {
    rdatas.forEach((rdata, index) => {
      for (const { offset, length } of embeddedNames(type, rdata)) {
        const name = lowerName(latin1(rdata.subarray(offset, offset + length)) as Name);
        if (!isWithin(name, apex) || cutAbove(name, cuts) !== undefined || exists(name, existing)) continue;
        const text = formatName(name);
        const relative = text.slice(0, -formatName(apex).length);
        report(
          positions[index] ?? position,
          "RECORD_TARGET_MISSING",
          `${formatName(owner)} ${typeText(type)} leads to ${text}, which does not exist`,
          relative.split(".").length > 2
            ? `If ${relative.slice(0, -1)} is meant, end it with a dot: ${relative}`
            : "Correct the name, or add records of that name.",
          "warning",
        );
      }
    });
  }
}

/** Whether a name has records, or gets them from a wildcard at its closest encloser (RFC 4592 §3.3.1). */
function exists(name: Name, existing: ExistingNames): boolean {
  if (existing.has(name)) return true;
  for (let at = parentName(name); at !== undefined; at = parentName(at)) {
    if (existing.has(at)) return existing.has(prependLabels(["*"], at));
  }
  return false;
}
