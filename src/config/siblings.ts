import { networkInterfaces } from "node:os";
import path from "node:path";
import { formatAddress, type SocketAddress } from "../lib/listening.js";
import type { SiblingConfig, SiblingsConfig, SoaConfig } from "./config.js";
import { checkSecrecy } from "./credentials.js";
import { builtIn } from "./option.js";
import { quote } from "./quote.js";
import type { MainInput } from "./schema.js";
import { parseSiblingName, siblingsOptions } from "./schema-siblings.js";
import { readSiblingSecrets } from "./secrets.js";
import { problemAt, problemAtKey, type Report, type Source } from "./source.js";

/** Most siblings of one server: each is told everything by each. */
const MAX_PEERS = 7;

/** Completes `siblings:`, and tries the secret so that a mistake is found before it matters. */
export function buildSiblings(
  source: Source,
  input: MainInput["siblings"],
  report: Report,
): SiblingsConfig | undefined {
  if (input === undefined) return undefined;
  const { name, listen } = input;
  const secretFile = path.resolve(source.directory, input.secretFile);
  checkSecret(source, secretFile, report);
  checkListen(source, listen, report);
  return {
    name,
    listen,
    peers: buildPeers(source, input, report),
    secretFile,
    shareOverrides: input.shareOverrides ?? builtIn(siblingsOptions.shareOverrides),
    holdAtMostMs: input.holdAtMost ?? builtIn(siblingsOptions.holdAtMost),
    whenIsolated: input.whenIsolated ?? builtIn(siblingsOptions.whenIsolated),
  };
}

function checkSecret(source: Source, file: string, report: Report): void {
  const at = ["siblings", "secretFile"];
  const read = readSiblingSecrets(file);
  if ("why" in read) {
    report(
      problemAt(source, at, {
        message: `siblings.secretFile is ${quote(file)}: ${read.why}.`,
        remedy: 'Write one line of 64 hexadecimal digits into it (such as "openssl rand -hex 32" prints), or two.',
        code: "CONFIG_SIBLING_SECRET",
      }),
    );
    return;
  }
  checkSecrecy(source, at, file, report, "can drain targets on every sibling");
}

function checkListen(source: Source, { address, port }: SocketAddress, report: Report): void {
  if (!isWildcard({ address, port })) return;
  report(
    problemAt(source, ["siblings", "listen"], {
      message: `siblings.listen is ${quote(formatAddress({ address, port }))}, so that everybody who reaches this machine can connect.`,
      remedy: "Write the one address by which the siblings reach this server.",
      code: "CONFIG_SIBLING_LISTEN_EVERYWHERE",
      severity: "warning",
    }),
  );
}

/** Names differ by more than the case of their letters. */
function checkNames(source: Source, written: readonly string[], report: Report): void {
  const seen = new Map<string, string>();
  for (const name of written) {
    const before = seen.get(name.toLowerCase());
    seen.set(name.toLowerCase(), name);
    if (before === undefined) continue;
    report(
      problemAtKey(source, ["siblings", "peers", name], {
        message: `siblings.peers names ${quote(name)} and ${quote(before)}, which is one name.`,
        remedy: "Keep one of them: capitals and small letters are the same.",
        code: "CONFIG_SIBLING_PEERS",
      }),
    );
  }
}

/** @param seen places of the peers before. @returns why nobody can connect there; undefined if one can */
function whyNoPlace(at: SocketAddress, listen: SocketAddress, seen: ReadonlySet<string>): string | undefined {
  if (at.port === 0 && listen.port !== 0) return "which has no port to connect to";
  if (isWildcard(at)) return "which is the address of no server";
  return seen.has(formatAddress(at)) ? "where another peer is already" : undefined;
}

function isWildcard({ address }: SocketAddress): boolean {
  return address === "0.0.0.0" || address === "::";
}

/** What listens on TCP beside the siblings' listener. */
export interface OtherListeners {
  /** DNS. */
  readonly listen: readonly SocketAddress[];
  /** The admin service. */
  readonly http?: SocketAddress | undefined;
}

/** Two services cannot listen on one address and port. */
export function checkPlaces(
  source: Source,
  own: SocketAddress | undefined,
  { listen, http }: OtherListeners,
  report: Report,
): void {
  if (own === undefined) return;
  const others = [
    ...listen.map((at) => ["listen", at] as const),
    ...(http === undefined ? [] : [["admin.http", http] as const]),
  ];
  for (const [option, at] of others) {
    if (at.port !== own.port || at.port === 0) continue;
    if (at.address !== own.address && !isWildcard(at) && !isWildcard(own)) continue;
    report(
      problemAt(source, ["siblings", "listen"], {
        message: `siblings.listen is ${quote(formatAddress(own))}, and ${option} is ${quote(formatAddress(at))}: one port cannot serve both.`,
        remedy: 'Use another port for siblings, such as "9854".',
        code: "CONFIG_SIBLING_LISTEN_TAKEN",
      }),
    );
  }
}

function buildPeers(
  source: Source,
  { name, listen, peers }: NonNullable<MainInput["siblings"]>,
  report: Report,
): readonly SiblingConfig[] {
  const entries = Object.entries(peers);
  if (entries.length === 0 || entries.length > MAX_PEERS) {
    report(
      problemAt(source, ["siblings", "peers"], {
        message: `siblings.peers names ${entries.length} servers.`,
        remedy: `Name the other servers of the zones, 1 to ${MAX_PEERS}, such as "ns2: 198.51.100.53:9854".`,
        code: "CONFIG_SIBLING_PEERS",
      }),
    );
  }
  checkNames(source, Object.keys(peers), report);
  const own = new Set(Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address)));
  const seen = new Set<string>();
  return entries.flatMap(([written, at]): SiblingConfig[] => {
    const where = ["siblings", "peers", written];
    const parsed = parseSiblingName(written);
    if (!("value" in parsed)) {
      const message = `siblings.peers has the name ${quote(written)}: ${parsed.why}.`;
      report(problemAtKey(source, where, { message, remedy: parsed.remedy, code: parsed.code }));
      return [];
    }
    const place = formatAddress(at);
    const why = whyNoPlace(at, listen, seen);
    if (why !== undefined) {
      report(
        problemAt(source, where, {
          message: `siblings.peers.${written} is ${quote(place)}, ${why}.`,
          remedy: "Write the address and port on which that server listens for its siblings.",
          code: "CONFIG_SIBLING_PEERS",
        }),
      );
    }
    seen.add(place);
    // Another server on this machine has another port.
    const isHere = at.port === listen.port && (at.address === listen.address || own.has(at.address));
    if (parsed.value === name || isHere) {
      report(
        problemAt(source, where, {
          message: `siblings.peers.${written} is this server itself${isHere ? `: this machine has the address ${at.address}` : ""}.`,
          remedy: "Remove it: a server names only the others.",
          code: "CONFIG_SIBLING_ONESELF",
          severity: "warning",
        }),
      );
      return [];
    }
    return [{ name: parsed.value, ...at }];
  });
}

/** The share of serials of a server among its siblings, so that no two of them ever make the same one for different records. */
export function shareOfSerials({ name, peers }: SiblingsConfig): NonNullable<SoaConfig["serialModulo"]> {
  const names = [name, ...peers.map((peer) => peer.name)].sort();
  return { remainder: names.indexOf(name), modulus: Math.max(2, names.length) };
}
