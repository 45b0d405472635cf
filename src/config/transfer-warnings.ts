import { networkInterfaces } from "node:os";
import { formatAddress, type SocketAddress } from "../lib/listening.js";
import type { ZoneConfig } from "./config.js";
import type { Path } from "./positions.js";
import { formatPath, quote } from "./quote.js";
import { problemAt, problemAtKey, type Report, type Source } from "./source.js";
import type { TsigClause } from "./tsig-secret.js";

/* What is odd about transfers, and is no error: the server would start, and a secondary would not do what was meant. */

/** Warns of zones that others carry while nothing is persisted: their serials may go back with the clock. */
export function warnOfUnsavedSerials(
  source: Source,
  stateDir: string | undefined,
  zones: readonly ZoneConfig[],
  report: Report,
): void {
  const carried = zones.filter(({ transfer }) => transfer !== undefined);
  const [first] = carried;
  if (stateDir !== undefined || first === undefined) return;
  const those = carried.length === 1 ? first.zone : `${first.zone} and ${carried.length - 1} more`;
  report(
    problemAt(source, [], {
      message: `stateDir is not set, and ${those} may be transferred: after a clock that was set back, a restart would begin with a lower serial, and secondaries would never follow again.`,
      remedy: 'Add "stateDir: /var/lib/livezone".',
      code: "CONFIG_TRANSFER_UNSAVED",
      severity: "warning",
    }),
  );
}

/** Warns of an address that stands under `to` twice, and of this server's own. @param listen where queries are answered */
export function warnOfSecondaries(
  source: Source,
  secondaries: readonly SocketAddress[],
  listen: readonly SocketAddress[],
  report: Report,
): void {
  const at: Path = ["transfer", "to"];
  const local = new Set(Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address)));
  const seen = new Set<string>();
  for (const [index, one] of secondaries.entries()) {
    const where = source.positions.isList(at) ? [...at, index] : at;
    const place = formatAddress(one);
    const isOwn = listen.some(
      ({ address, port }) =>
        port === one.port && (address === one.address || (isWildcard(address) && local.has(one.address))),
    );
    if (isOwn || seen.has(place)) {
      report(
        problemAt(source, where, {
          message: `${formatPath(where)} is ${quote(place)}, ${isOwn ? "where this server itself listens" : "which is already in the list"}.`,
          remedy: isOwn ? "Write the address of the other server." : "Keep one of them.",
          code: isOwn ? "CONFIG_SECONDARY_ONESELF" : "CONFIG_SECONDARY_DUPLICATE",
          severity: "warning",
        }),
      );
    }
    seen.add(place);
  }
}

function isWildcard(address: string): boolean {
  return address === "0.0.0.0" || address === "::";
}

/** Warns of keys whose names differ by letter case only, which are one and the same (RFC 8945 §4.2). */
export function warnOfKeyNames(source: Source, names: readonly string[], report: Report): void {
  const seen = new Map<string, string>();
  for (const name of names) {
    const same = name.toLowerCase().replace(/\.$/, "");
    const other = seen.get(same);
    if (other !== undefined) {
      report(
        problemAtKey(source, ["transfer", "keys", name], {
          message: `transfer.keys has ${quote(other)} and ${quote(name)}, which are the same name to DNS; only the last one counts.`,
          remedy: "Rename or remove one of them.",
          code: "CONFIG_TSIG_KEY_DUPLICATE",
          severity: "warning",
        }),
      );
    }
    seen.set(same, name);
  }
}

/** Warns of a key file that says another name or algorithm than the configuration: the other side has it from there. */
export function warnOfClause(
  source: Source,
  at: Path,
  key: { readonly name: string; readonly algorithm: string },
  clause: TsigClause,
  report: Report,
): void {
  const differs = [
    ...(clause.name === undefined || clause.name === key.name ? [] : [`the name ${quote(clause.name)}`]),
    ...(clause.algorithm === undefined || clause.algorithm === key.algorithm
      ? []
      : [`the algorithm ${quote(clause.algorithm)}`]),
  ];
  if (differs.length === 0) return;
  report(
    problemAt(source, at, {
      message: `${formatPath(at)}: the file has ${differs.join(" and ")}, and the configuration ${quote(key.name)} with ${key.algorithm}; a server that was given this file would be refused.`,
      remedy: "Let both say the same.",
      code: "CONFIG_TSIG_CLAUSE",
      severity: "warning",
    }),
  );
}
